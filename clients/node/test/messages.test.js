// The client against a server of the test's own, which decides what is answered, when and how often.
'use strict';
const assert = require('node:assert/strict');
const test = require('node:test');
const { Publisher: Pub, Router, Subscriber } = require('zeromq');
const { decode, encode } = require('@msgpack/msgpack');
const { Actions, Client, CoppiceError, Publisher } = require('../lib/client');
const { checkId, pack, unpack } = require('../lib/wire');

/** answer(verb, body, count, model): [status, body] or undefined for none. All messages are in `got`. */
async function serve(answer) {
  const socket = new Router({ linger: 0 });
  await socket.bind('tcp://127.0.0.1:*');
  const got = [];
  (async () => {
    for await (const [peer, verb, model, bytes] of socket) {
      const body = decode(bytes, { useBigInt64: true });
      got.push({ verb: verb.toString(), model: model.toString(), body });
      const reply = answer(verb.toString(), body, got.length);
      if (reply !== undefined)
        await socket.send([peer, reply[0], encode({ seq: body.seq, ...reply[1] }, { useBigInt64: true })]);
    }
  })();
  return { got, endpoint: socket.lastEndpoint, close: () => socket.close() };
}

const decided = body => ['ok', { items: body.items.map(item => ({ id: item.id, a: 1, p: 0.5, rev: 3, greedy: true })) }];

async function withServer(answer, use, options = {}) {
  const server = await serve(answer);
  const client = new Client(server.endpoint, { timeout: 20000, ...options });
  try {
    await use(client, server);
  } finally {
    client.close();
    server.close();
  }
}

test('64 calls that begin together are one message', () => withServer((_, body) => decided(body), async (client, { got }) => {
  const ids = Array.from({ length: 64 }, (_, i) => `u${i}`);
  const actions = await Promise.all(ids.map(id => client.decide('m', { id, x: [1] })));
  assert.deepEqual(actions.map(action => action.id), ids);
  assert.deepEqual(got.map(message => [message.verb, message.model, message.body.items.length]), [['decide_batch', 'm', 64]]);
}));

test('verbs and models have messages of their own', () => withServer((verb, body) => verb === 'decide_batch' ? decided(body)
  : ['ok', { items: body.items.map(item => ({ id: item.id, result: 'applied' })) }], async (client, { got }) => {
  await Promise.all([client.decide('m', { id: 1, x: [1] }), client.decide('n', { id: 1, x: [1] }), client.feedback('m', 2, 0.5),
    client.decide('m', { id: 3, x: [1] })]);
  assert.deepEqual(got.map(message => `${message.verb} ${message.model} ${message.body.items.length}`),
    ['decide_batch m 2', 'decide_batch n 1', 'feedback_batch m 1']);
}));

test('calls wait while messages are under way, and leave together', () => withServer((_, body) => decided(body), async (client, { got }) => {
  const calls = [];
  for (let i = 0; i < 100; i++) calls.push(client.decide('m', { id: i, x: [1] }));
  await Promise.all(calls);
  assert.deepEqual(got.map(message => message.body.items.length), [64, 36]);
}, { messages: 1 }));

test('a message without an answer is sent again under its ids, and a late answer counts', () => {
  let first;
  return withServer((_, body, count) => {
    if (count === 1) first = body;
    return count < 3 ? undefined : ['ok', { ...decided(first)[1], seq: first.seq }]; // of the first one, after the third came
  }, async (client, { got }) => {
    const [one, two] = await Promise.all([client.decide('m', { id: 'a', x: [1] }), client.decide('m', { id: 'b', x: [2] })]);
    assert.deepEqual([one.id, two.id], ['a', 'b']);
    assert.equal(got.length, 3);
    for (const message of got) assert.deepEqual(message.body.items, got[0].body.items);
    assert.equal(new Set(got.map(message => message.body.seq)).size, 3);
  }, { retry: 20 });
});

test('busy and not_durable are waited out, in single items too', () => withServer((_, body, count) => {
  if (count === 1) return ['error', { code: 'busy', message: 'later' }];
  return ['ok', { items: body.items.map(({ id }, i) => count === 2 && i === 1
    ? { id, code: 'not_durable', message: 'the disk is full' } : { id, result: 'applied' }) }];
}, async (client, { got }) => {
  const results = await Promise.all([1, 2, 3].map(id => client.feedback('m', id, 0)));
  assert.deepEqual(results, [1, 2, 3].map(id => ({ id, result: 'applied' })));
  assert.deepEqual(got.map(message => message.body.items.map(item => Number(item.id))), [[1, 2, 3], [1, 2, 3], [2]]);
}, { retry: 20 }));

test('a batch that is too large is halved', () => withServer((_, body) => body.items.length > 4
  ? ['error', { code: 'too_large', message: 'too long' }] : decided(body), async (client, { got }) => {
  await Promise.all(Array.from({ length: 16 }, (_, i) => client.decide('m', { id: i, x: [1] })));
  assert.deepEqual(got.map(message => message.body.items.length), [16, 8, 4, 4, 4, 4]);
}, { messages: 1 }));

test('errors have the code of the protocol and belong to their call', () => withServer((_, body) => ['ok', {
  items: body.items.map(({ id, x }) => x.length === 1 ? { id, a: 0, p: 1, rev: 0, greedy: true }
    : { id, code: 'bad_features', message: 'x: got 2 values, expected 1' }) }], async client => {
  const [good, bad] = await Promise.allSettled([client.decide('m', { id: 'g', x: [1] }), client.decide('m', { id: 'b', x: [1, 2] })]);
  assert.equal(good.value.a, 0);
  assert.ok(bad.reason instanceof CoppiceError);
  assert.deepEqual([bad.reason.code, bad.reason.id, bad.reason.message], ['bad_features', 'b', 'x: got 2 values, expected 1']);
}));

test('retry: false sends once', () => withServer(() => undefined, async (client, { got }) => {
  const once = client.feedback('m', 1, 0, {}, { retry: false, timeout: 300 });
  const often = client.feedback('n', 1, 0, {}, { timeout: 300 });
  await assert.rejects(once, { code: 'timeout' });
  await assert.rejects(often, { code: 'timeout' });
  assert.equal(got.filter(message => message.model === 'm').length, 1);
  assert.ok(got.filter(message => message.model === 'n').length > 1);
}, { retry: 20 }));

test('without a daemon a call fails in its time, and is not sent later', async () => {
  const server = await serve((_, body) => decided(body));
  const endpoint = server.endpoint;
  server.close();
  const client = new Client(endpoint, { timeout: 150 });
  await assert.rejects(client.decide('m', { id: 1, x: [1] }), error => error.code === 'timeout' && /coppiced/.test(error.message));
  client.close();
});

test('close refuses what waits and what comes', () => withServer(() => undefined, async client => {
  const waiting = client.status();
  client.close();
  await assert.rejects(waiting, { code: 'closed' });
  await assert.rejects(client.status(), { code: 'closed' });
}));

test('what cannot be sent is refused before it is', () => withServer((_, body) => decided(body), async (client, { got }) => {
  for (const id of ['', 'x'.repeat(65), 1.5, 2 ** 53, 2n ** 64n, -(2n ** 63n) - 1n, null, {}])
    await assert.rejects(client.feedback('m', id, 0), TypeError);
  await assert.rejects(client.decide('m', { id: 1, x: { a: () => 1 } }));
  assert.equal(got.length, 0);
}));

test('integers keep their value both ways', () => {
  for (const id of [0, -1, 17, 2 ** 32, 2 ** 53 - 1, -(2 ** 53) + 1])
    assert.equal(unpack(pack({ id: checkId(id) })).id, id);
  for (const id of [2n ** 64n - 1n, 2n ** 53n, -(2n ** 63n)]) assert.equal(unpack(pack({ id: checkId(id) })).id, id);
  assert.equal(pack(checkId(17))[0], 0xcf); // an integer of 64 bits, which is the same id as 17 in one byte
});

async function listen(address, topic) {
  const socket = new Subscriber({ linger: 0 });
  await socket.bind(address);
  socket.subscribe(topic);
  return socket;
}

test('a publisher waits for the subscription, also for that of a daemon that comes back, and counts on', async () => {
  const first = await listen('tcp://127.0.0.1:*', 'ctx.');
  const address = first.lastEndpoint;
  const publisher = new Publisher(address, 'ctx', 'web', { timeout: 20000 });
  publisher.publish('m', { id: 1, x: [1] }, { id: 2, x: [2] });
  const [topic, body] = await first.receive();
  assert.equal(topic.toString(), 'ctx.m');
  assert.deepEqual(unpack(body).map(({ id, src, n }) => [id, src, n]), [[1, 'web.ctx', 0], [2, 'web.ctx', 1]]);
  first.close();
  const gone = new Publisher(address, 'fb', 'web', { timeout: 500 });
  await assert.rejects(gone.publish('m', { id: 1, loss: 0 }), { code: 'timeout' });
  await gone.close();
  const second = await listen(address, 'ctx.');
  await publisher.publish('m', { id: 3, x: [3] });
  assert.deepEqual([3, 'web.ctx', 2], (({ id, src, n }) => [id, src, n])(unpack((await second.receive())[1])));
  second.close();
  await publisher.close();
});

test('a subscription has the actions of its model alone, one after the other', async () => {
  const daemon = new Pub({ linger: 0 });
  await daemon.bind('tcp://127.0.0.1:*');
  const actions = new Actions(daemon.lastEndpoint, 'front');
  let done = false;
  const sender = (async () => {
    while (!done) {
      await daemon.send(['act.front-page', encode({ id: 'of another model' })]);
      await daemon.send(['act.front', encode([{ id: 1, a: 0 }, { id: 2, a: 1 }])]);
      await new Promise(resolve => setTimeout(resolve, 5)); // the pace of trying until the subscription has come
    }
  })();
  const seen = [];
  for await (const action of actions) if (seen.push(action.id) === 4) break;
  done = true;
  await sender;
  assert.deepEqual(seen, [1, 2, 1, 2]);
  actions.close();
  daemon.close();
});

/** Two servers; the first answers as told, and the second decides. */
async function withTwo(first, use, options = {}) {
  const two = await serve((_, body) => decided(body));
  const one = await serve((verb, body) => first(two.endpoint, body));
  const client = new Client([one.endpoint, two.endpoint], { timeout: 20000, ...options });
  try {
    await use(client, one, two);
  } finally {
    client.close();
    one.close();
    two.close();
  }
}

for (const known of [true, false])
  test(`a client goes to the one that leads, ${known ? 'which it is told' : 'by trying'}`, () => withTwo(
    leader => ['error', { code: 'not_leader', message: 'no', ...(known ? { leader: `ipc://other ${leader}` } : {}) }],
    async (client, one, two) => {
      const ids = Array.from({ length: 200 }, (_, i) => i);
      const actions = await Promise.all(ids.map(id => client.decide('m', { id, x: [1] })));
      assert.deepEqual(actions.map(action => action.id), ids);
      assert.ok(one.got.length >= 1 && two.got.length >= 4);
      const before = one.got.length;
      await client.decide('m', { id: 'later', x: [1] });
      assert.equal(one.got.length, before);
    }));

test('a client leaves one that does not answer', () => withTwo(() => undefined, async (client, one, two) => {
  assert.equal((await client.decide('m', { id: 'a', x: [1] })).id, 'a');
  assert.equal(one.got.length, 1);
  assert.deepEqual(two.got.map(message => message.body.items[0].id), ['a']);
}, { retry: 50 }));

test('a client leaves one that is not there', async () => {
  const two = await serve((_, body) => decided(body));
  const client = new Client(['tcp://127.0.0.1:1', two.endpoint], { timeout: 20000 });
  assert.equal((await client.decide('m', { id: 'a', x: [1] })).id, 'a');
  client.close();
  two.close();
});

test('a client asks again while nobody leads', async () => {
  let asked = 0;
  const answer = (_, body) => ++asked > 9 ? decided(body) : ['error', { code: 'not_leader', message: 'nobody leads' }];
  const [one, two] = [await serve(answer), await serve(answer)];
  const client = new Client([one.endpoint, two.endpoint], { timeout: 20000, retry: 20 });
  assert.equal((await client.decide('m', { id: 'a', x: [1] })).id, 'a');
  assert.ok(one.got.length >= 3 && two.got.length >= 3);
  client.close();
  one.close();
  two.close();
});

test('not_leader is an error where there is no other one, and where nothing is sent again', async () => {
  const one = await serve(() => ['error', { code: 'not_leader', message: 'it follows' }]);
  const client = new Client(one.endpoint, { timeout: 20000 });
  await assert.rejects(client.decide('m', { id: 'a', x: [1] }), { code: 'not_leader', id: 'a' });
  const both = new Client([one.endpoint, one.endpoint], { timeout: 20000 });
  await assert.rejects(both.decide('m', { id: 'a', x: [1] }, { retry: false }), { code: 'not_leader' });
  assert.throws(() => new Client([]), TypeError);
  client.close();
  both.close();
  one.close();
});
