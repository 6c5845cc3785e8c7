// Visits of a program that was written for the retired service: its own client library, its own calls, another address.
// Prints one JSON object of what the calls brought.
'use strict';
const { PersonalizerClient } = require('@azure/cognitiveservices-personalizer');
const { CognitiveServicesCredentials } = require('@azure/ms-rest-azure-js');

const [endpoint, key] = process.argv.slice(2);
const client = new PersonalizerClient(new CognitiveServicesCredentials(key), endpoint);

const request = (eventId, more = {}) => ({
  contextFeatures: [{ timeOfDay: 'Morning' }, { device: { kind: 'mobile' } }],
  actions: ['NewsArticle', 'SportsArticle', 'EntertainmentArticle'].map(
    id => ({ id, features: [{ type: id }, { length: { minutes: id.length } }] })),
  eventId,
  ...more,
});

/** What a call that must fail is refused with. */
async function refused(call) {
  try {
    await call;
  } catch (error) {
    return { statusCode: error.statusCode, code: error.code, message: error.message, body: error.body };
  }
  return null;
}

async function learn(visits) {
  let best = 0;
  for (let i = 0; i < visits; i++) {
    const answer = await client.rank(request(`visit-${i}`));
    const right = answer.rewardActionId === 'SportsArticle';
    const reward = await client.events.reward(answer.eventId, { value: right ? 1 : 0.1 });
    if (reward._response.status !== 204) throw new Error(`reward: ${reward._response.status}`);
    if (right && i >= visits / 2) best++;
  }
  return best;
}

async function main() {
  const out = {};
  const first = await client.rank(request('first'));
  out.first = { status: first._response.status, eventId: first.eventId, rewardActionId: first.rewardActionId, ranking: first.ranking };
  out.again = (await client.rank(request('first'))).rewardActionId;
  out.made = (await client.rank(request(undefined))).eventId;
  out.excluded = [];
  for (let i = 0; i < 20; i++)
    out.excluded.push((await client.rank(request(`excluded-${i}`, { excludedActions: ['SportsArticle'] }))).rewardActionId);
  await client.rank(request('later', { deferActivation: true }));
  out.activated = (await client.events.activate('later'))._response.status;
  out.odd = (await client.rank(request('a b/c%?#é'))).eventId;
  out.oddReward = (await client.events.reward('a b/c%?#é', { value: 0.5 }))._response.status;
  out.callback = await new Promise((resolve, reject) => client.rank(request('callback'),
    (error, result) => error ? reject(error) : resolve(result.eventId)));
  out.best = await learn(100);
  out.reward = await refused(client.events.reward('first', { value: 1.5 }));
  out.other = await refused(client.rank({ ...request('first'), actions: [] }));
  out.fewer = await refused(client.rank({ ...request('later'), actions: [{ id: 'one', features: [] }] }));
  const stranger = new PersonalizerClient(new CognitiveServicesCredentials('not-the-key-of-anyone'), endpoint);
  out.stranger = await refused(stranger.rank(request('stranger')));
  console.log(JSON.stringify(out));
}

main().catch(error => {
  console.error(error);
  process.exit(1);
});
