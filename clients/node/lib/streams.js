// Streams. A publisher waits for the daemon's subscription before it sends, so the first messages are not lost, and
// waits where a queue is full instead of dropping; each item carries the publisher's name and a counter, by which the
// daemon counts what was lost all the same. Contexts and feedback have names and counters of their own.
'use strict';
const { Subscriber, XPublisher } = require('zeromq');
const { CoppiceError } = require('./errors');
const { outgoing, pack, unpack } = require('./wire');

const RECONNECTS = { reconnectInterval: 20, reconnectMaxInterval: 1000 }; // milliseconds

class Publisher {
  #socket;
  #kind;
  #src;
  #n = 0;
  #timeout;
  #topics = new Set(); // what the daemon has subscribed to
  #waiting = new Set(); // functions that look at the topics again
  #last = Promise.resolve(); // messages leave one after the other

  /** kind: 'ctx' or 'fb'. name: of 1 to 60 bytes. */
  constructor(endpoint, kind, name, { timeout = 10000, socket = {} } = {}) {
    if (kind !== 'ctx' && kind !== 'fb') throw new TypeError("kind: expected 'ctx' or 'fb'");
    this.#kind = kind;
    this.#src = `${name}.${kind}`;
    this.#timeout = timeout;
    if (Buffer.byteLength(this.#src) > 64) throw new TypeError('name: expected at most 60 bytes');
    this.#socket = new XPublisher({ linger: 1000, noDrop: true, ...RECONNECTS, ...socket });
    this.#socket.connect(endpoint);
    this.#watch();
  }

  /** Sends items, in one message, once the daemon listens to the model's topic. */
  publish(model, ...items) {
    const sent = items.map(item => outgoing(item));
    const step = this.#last.then(() => this.#send(`${this.#kind}.${model}`, sent));
    this.#last = step.catch(() => {});
    return step;
  }

  /** After what was published has been sent. */
  async close() {
    await this.#last;
    this.#socket.close();
  }

  async #send(topic, items) {
    await this.#subscribed(topic);
    const counted = items.map(item => ({ ...item, src: this.#src, n: BigInt(this.#n++) }));
    await this.#socket.send([topic, pack(counted.length === 1 ? counted[0] : counted)]);
  }

  #subscribed(topic) {
    const heard = () => [...this.#topics].some(prefix => topic.startsWith(prefix));
    if (heard()) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const done = () => { clearTimeout(timer); this.#waiting.delete(look); };
      const timer = setTimeout(() => {
        done();
        reject(new CoppiceError('timeout', `nobody has subscribed to ${topic} within ${this.#timeout} ms; is coppiced running?`));
      }, this.#timeout);
      const look = () => { if (heard()) { done(); resolve(); } };
      this.#waiting.add(look);
    });
  }

  async #watch() {
    for await (const [frame] of this.#socket) {
      const topic = frame.subarray(1).toString();
      if (frame[0] === 1) this.#topics.add(topic);
      else this.#topics.delete(topic);
      for (const look of [...this.#waiting]) look();
    }
  }
}

/** The actions of a model, one after the other: `for await (const action of new Actions(endpoint, model))`. The daemon
 * keeps contexts until a subscription has come, so nothing is missed at the start. */
class Actions {
  #socket;
  #topic;

  constructor(endpoint, model, { queue = 100000, socket = {} } = {}) {
    this.#topic = `act.${model}`;
    this.#socket = new Subscriber({ receiveHighWaterMark: queue, linger: 0, ...RECONNECTS, ...socket });
    this.#socket.connect(endpoint);
    this.#socket.subscribe(this.#topic);
  }

  async *[Symbol.asyncIterator]() {
    for await (const [topic, body] of this.#socket) {
      if (topic.toString() !== this.#topic) continue; // a longer name with the same beginning
      const value = unpack(body);
      yield* Array.isArray(value) ? value : [value];
    }
  }

  close() {
    this.#socket.close();
  }
}

module.exports = { Actions, Publisher };
