// The client and the streams with a daemon: COPPICE_REQUESTS, _CONTEXTS, _FEEDBACK and _ACTIONS are its addresses. It
// has the models m (3 features, 3 arms), r (learner rank, features by name) and h (as m, with a control group).
'use strict';
const assert = require('node:assert/strict');
const test = require('node:test');
const { Actions, Client, Publisher } = require('../lib/client');

const { COPPICE_REQUESTS: requests, COPPICE_CONTEXTS: contexts, COPPICE_FEEDBACK: feedback, COPPICE_ACTIONS: actions } = process.env;
const x = [0.25, 1, 3.5];

async function withClient(use, options) {
  const client = new Client(requests, options);
  try {
    await use(client);
  } finally {
    client.close();
  }
}

test('ids of every type come back as they were given, and are found again', () => withClient(async client => {
  for (const id of ['text', 17, -1, 2 ** 40, 2 ** 53 - 1, 2n ** 63n, 2n ** 64n - 1n, -(2n ** 63n), Buffer.from('17')]) {
    const action = await client.decide('m', { id, x });
    assert.equal(action.id, id);
    assert.ok([0, 1, 2].includes(action.a) && action.p > 0 && action.p <= 1 && action.repeated === undefined);
    assert.deepEqual(await client.decide('m', { id, x: [0, 0, 0] }), { ...action, repeated: true });
    assert.deepEqual(await client.feedback('m', id, 0.5), { id, result: 'applied' });
    assert.equal((await client.feedback('m', id, 0.5)).result, 'duplicate');
  }
}));

test('features in every form are the same', () => withClient(async client => {
  const forms = [x, Float32Array.from(x), Float64Array.from(x), new Uint8Array(Float32Array.from(x).buffer)];
  const explained = await Promise.all(forms.map(form => client.explain('m', { x: form })));
  for (const one of explained) assert.deepEqual(one, explained[0]);
}));

test('a context without an id gets one', () => withClient(async client => {
  const [one, two] = await Promise.all([client.decide('m', { x }), client.decide('m', { x })]);
  assert.notEqual(one.id, two.id);
  assert.equal((await client.feedback('m', one.id, 1)).result, 'applied');
}));

test('rank, activate, explain and status', () => withClient(async client => {
  const c = [{ kind: 'news' }, { kind: 'sports' }];
  const action = await client.rank('r', { id: 'k', x: { hour: 7 }, c, order: true, defer: true });
  assert.deepEqual([...action.order].sort(), [0, 1]);
  assert.equal((await client.activate('r', 'k')).result, 'applied');
  assert.equal((await client.explain('r', { id: 'k' })).a, action.a);
  assert.deepEqual((await client.status()).models.map(model => model.name), ['m', 'r', 'h', 's']);
  assert.match(client.daemonVersion, /^\d+\.\d+\.\d+$/);
  assert.equal((await client.status()).version, client.daemonVersion);
  assert.equal((await client.activate('m', 'nobody')).version, undefined);
  assert.deepEqual((await client.status('r')).models.map(model => model.name), ['r']);
}));

test('a unit is held out at each visit, or at none', () => withClient(async client => {
  const visit = unit => client.decide('h', { x, unit }).then(action => action.by);
  const units = [...Array(40).keys()];
  const [first, second] = [await Promise.all(units.map(visit)), await Promise.all(units.map(visit))];
  assert.deepEqual(first, second);
  assert.deepEqual(new Set(first), new Set([undefined, 'holdout']));
}));

test('losses have names where the model\'s have', () => withClient(async client => {
  await client.decide('s', { id: 'l', x });
  assert.equal((await client.feedback('s', 'l', { click: 1, seconds: 0.5 })).result, 'applied');
  await assert.rejects(client.feedback('s', 'l', { seconds: 0.5 }), { code: 'bad_loss' });
  await assert.rejects(client.feedback('s', 'l', 1), { code: 'bad_loss' });
  const [model] = (await client.status('s')).models;
  assert.deepEqual(model.losses.map(one => [one.name, one.mean_loss]), [['click', 1], ['seconds', 0.5]]);
}));

test('refusals have their codes', () => withClient(async client => {
  await assert.rejects(client.decide('m', { id: 'e', x: [1] }), { code: 'bad_features', id: 'e' });
  await assert.rejects(client.decide('z', { id: 'e', x }), { code: 'unknown_model' });
  await assert.rejects(client.feedback('m', 'e', 7), { code: 'bad_loss' });
  await assert.rejects(client.rank('m', { id: 'e', x, c: [x] }), { code: 'bad_request' });
  await assert.rejects(client.explain('m', {}), { code: 'bad_request' });
  await assert.rejects(client.decide('m', { id: 'e', x: Array(118000).fill(0.5) }), { code: 'too_large', message: /^body of/ });
  const far = client.decide('m', { id: 'e', x: Array(500000).fill(0.5) });
  await assert.rejects(far, { code: 'too_large', message: /^the connection ended whenever/ });
}));

test('64 calls at once are one request', () => withClient(async client => {
  const before = (await client.status()).requests.received;
  await Promise.all(Array.from({ length: 64 }, (_, i) => client.decide('m', { id: `at-once-${i}`, x })));
  assert.equal((await client.status()).requests.received - before, 2); // the batch, and this status
}));

test('contexts published at once bring all their actions, and nothing is lost', () => withClient(async client => {
  const subscription = new Actions(actions, 'm');
  const publisher = new Publisher(contexts, 'ctx', 'live'), rewards = new Publisher(feedback, 'fb', 'live');
  const before = (await client.status('m')).models[0];
  for (let i = 0; i < 20; i++)
    publisher.publish('m', ...Array.from({ length: 100 }, (_, k) => ({ id: `s-${100 * i + k}`, x: Float32Array.from(x) })));
  const seen = new Set();
  for await (const action of subscription) {
    seen.add(action.id);
    await rewards.publish('m', { id: action.id, loss: action.a / 2 });
    if (seen.size === 2000) break;
  }
  let after;
  do after = (await client.status('m')).models[0]; while (after.learned - before.learned < 2000);
  assert.equal(after.decisions - before.decisions, 2000);
  assert.deepEqual([after.contexts.lost, after.feedback_stream.lost, after.contexts.received], [0, 0, 2000]);
  subscription.close();
  await publisher.close();
  await rewards.close();
}));
