// Client, Publisher and Actions over CURVE; tests/integration/test_client_node.py starts the daemon.
'use strict';
const assert = require('node:assert/strict');
const { test } = require('node:test');
const { capability, curveKeyPair } = require('zeromq');
const { Actions, Client, Publisher } = require('../lib/client');

const env = process.env;
const socket = {
  curveServerKey: env.COPPICE_SERVER_KEY, curvePublicKey: env.COPPICE_PUBLIC_KEY, curveSecretKey: env.COPPICE_SECRET_KEY,
};

test('ZeroMQ has CURVE', () => assert.equal(capability.curve, true));

test('a known key decides, and is told what it may not do', async () => {
  const client = new Client(env.COPPICE_REQUESTS, { socket });
  const action = await client.decide('m', { id: 'curve', x: [1, 2, 3] });
  assert.equal(action.id, 'curve');
  assert.equal((await client.feedback('m', 'curve', 0.5)).result, 'applied');
  await assert.rejects(client.decide('n', { id: 'curve', x: [1, 2, 3] }), { code: 'forbidden' });
  client.close();
});

test('a stranger is answered nothing', async () => {
  const { publicKey, secretKey } = curveKeyPair();
  const keys = { ...socket, curvePublicKey: publicKey, curveSecretKey: secretKey };
  const client = new Client(env.COPPICE_REQUESTS, { timeout: 300, socket: keys });
  await assert.rejects(client.decide('m', { id: 'stranger', x: [1, 2, 3] }), { code: 'timeout' });
  client.close();
});

test('streams carry contexts, actions and feedback', async () => {
  const actions = new Actions(env.COPPICE_ACTIONS, 'm', { socket });
  const contexts = new Publisher(env.COPPICE_CONTEXTS, 'ctx', 'web', { socket });
  const rewards = new Publisher(env.COPPICE_FEEDBACK, 'fb', 'web', { socket });
  await contexts.publish('m', { id: 's1', x: [1, 2, 3] }, { id: 's2', x: [1, 2, 3] });
  const seen = [];
  for await (const action of actions) {
    seen.push(action.id);
    await rewards.publish('m', { id: action.id, loss: 0.5 });
    if (seen.length === 2) break;
  }
  assert.deepEqual(seen, ['s1', 's2']);
  for (const one of [actions, contexts, rewards]) one.close();
});
