// Decides and rewards without a pause while somebody kills the daemon, until a line comes on stdin; each hundredth
// reward prints a line. Then prints what every call brought, as one line of JSON.
//     node kills.js REQUESTS[,REQUESTS ...] MODEL
'use strict';
const { Client } = require('../lib/client');

const [endpoint, model] = process.argv.slice(2);
const AT_ONCE = 64;

async function main() {
  const client = new Client(endpoint.split(','), { timeout: 120000, retry: 100 });
  const out = { ids: [], results: {}, repeated: 0 };
  let stop = false, next = 0;
  process.stdin.once('data', () => { stop = true; });

  async function visit(id) {
    const action = await client.decide(model, { id, x: [id % 7 / 7, id % 3, 1] });
    if (action.id !== id) throw new Error(`the answer of ${id} has the id ${action.id}`);
    if (action.repeated) out.repeated++;
    const { result } = await client.feedback(model, id, action.a === id % 3 ? 0 : 1);
    out.results[result] = (out.results[result] ?? 0) + 1;
    out.ids.push(id);
    if (out.ids.length % 100 === 0) console.log(out.ids.length);
  }

  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    while (!stop) await visit(next++);
  }));
  client.close();
  process.stdin.destroy();
  console.log(JSON.stringify(out));
}

main().catch(error => {
  console.error(error);
  process.exit(1);
});
