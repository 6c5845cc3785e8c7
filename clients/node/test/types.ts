// What the types allow and what they refuse; only compiled, never run.
import { Action, Actions, Client, CoppiceError, Publisher, Result } from '../lib/client';

export async function allowed(): Promise<void> {
  const client = new Client('tcp://127.0.0.1:5590', { timeout: 1000, retry: false, socket: { curveServerKey: 'x' } });
  const action: Action = await client.decide('m', { id: 2n ** 63n, x: new Float32Array(3), mask: [1, 0, true] });
  const ranked = await client.rank('r', { x: { hour: 7, User: { name: 'tom' } }, c: [{ kind: 'news' }], order: true });
  const result: Result = await client.feedback('m', action.id, [0, 1], { x: [1], a: 0, p: 0.5 }, { retry: 100 });
  const place: number | undefined = ranked.order?.[0];
  if (result.result === 'applied' && place === 0) await client.activate('m', action.id);
  await client.feedback('m', 1, 0, { x: [1], a: 'left', p: 0.5, unit: 'somebody' });
  await client.feedback('m', 1, { click: 0, revenue: 3.2 });
  await new Publisher('tcp://127.0.0.1:5592', 'fb', 'web').publish('m', { id: 1, losses: { click: 0 } }, { id: 2, loss: 0.5 });
  const name: string | undefined = (await client.decide('m', { id: 1, x: [1], mask: ['left', 'right'] })).arm;
  const by: 'holdout' | 'conservative' | undefined = (await client.decide('m', { id: 2, x: [1], unit: 'somebody', a: 0, p: 1 })).by;
  const limit: 'share_min' | 'share_max' | 'least_propensity' | undefined = action.limit;
  if (by === undefined && limit === undefined) console.log(client.daemonVersion?.length);
  await client.explain('m', { id: name ?? 'a' });
  await client.explain('m', { x: [1, 2] });
  const publisher = new Publisher('tcp://127.0.0.1:5591', 'ctx', 'web', { timeout: 100, socket: { sendHighWaterMark: 10 } });
  await publisher.publish('m', { id: 1, x: [1] }, { id: 2, x: [2] });
  for await (const one of new Actions('tcp://127.0.0.1:5593', 'm')) console.log(one.a?.toFixed(), one.id);
  try {
    await client.status();
  } catch (error) {
    if (error instanceof CoppiceError && error.code === 'not_durable') throw error;
  }
}

export async function refused(client: Client): Promise<void> {
  // @ts-expect-error: a context has features
  await client.decide('m', { id: 1 });
  // @ts-expect-error: rank needs candidates
  await client.rank('m', { id: 1, x: [1] });
  // @ts-expect-error: no such id
  await client.activate('m', { a: 1 });
  // @ts-expect-error: a loss is a number
  await client.feedback('m', 1, 'good');
  // @ts-expect-error: and named ones are numbers
  await client.feedback('m', 1, { click: 'yes' });
  // @ts-expect-error: streams carry contexts and feedback
  new Publisher('tcp://127.0.0.1:5591', 'act', 'web');
}
