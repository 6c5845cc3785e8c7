// A web service that shows one of three offers to each visitor and learns from what is bought.
//     node offers.js tcp://127.0.0.1:5590 8080
//     curl -s 127.0.0.1:8080/offer -H 'Content-Type: application/json' -d '{"country": "de", "hour": 14, "member": true}'
//     curl -s -X POST 127.0.0.1:8080/offer/ID/bought
// A visitor who buys nothing needs no request: when the model's reward window is over, its default loss is learned.
'use strict';
const express = require('express');
const { Client, CoppiceError } = require('coppice-client');

const [address = 'tcp://127.0.0.1:5590', port = '8080'] = process.argv.slice(2);
const OFFERS = ['free delivery', 'ten percent off', 'a gift'];
const client = new Client(address, { timeout: 2000 });
const app = express();
app.use(express.json());

app.post('/offer', async (request, response, next) => {
  try {
    const { country = 'none', hour = 12, member = false } = request.body;
    const x = { visitor: { country: String(country), member: Boolean(member) }, clock: { hour: Number(hour) / 24 } };
    const action = await client.decide('offers', { x });
    response.json({ id: action.id, offer: OFFERS[action.a] });
  } catch (error) {
    next(error);
  }
});

app.post('/offer/:id/bought', async (request, response, next) => {
  try {
    const { result } = await client.feedback('offers', request.params.id, 0);
    response.status(result === 'unknown' || result === 'late' ? 404 : 200).json({ result });
  } catch (error) {
    next(error);
  }
});

app.use((error, request, response, next) => {
  if (response.headersSent) next(error);
  else if (!(error instanceof CoppiceError)) response.status(error.status ?? 500).json({ error: error.message });
  else response.status(error.code === 'timeout' ? 503 : 400).json({ error: error.code, message: error.message });
});

const server = app.listen(Number(port), '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
process.once('SIGTERM', () => server.close(() => client.close()));
