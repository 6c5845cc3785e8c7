// Requests over one DEALER socket. A call waits in the queue of its verb and model until a message takes it, with all
// that wait beside it, as one batch where the verb has one. Each message has a number, its seq, by which its reply is
// found. Of a message that gets no reply in time the calls go back to their queue and are sent again under their ids,
// so the daemon makes no second decision and learns no second loss; a late reply to the earlier message still counts.
// With the endpoints of several instances there is one connection at a time: to the next one when a message gets no reply
// or cannot be sent, or where a reply says who leads; what was under way is sent again there. To a lone one it connects
// anew where no connection can be made, as ZeroMQ does not try again after a refused key.
// A call ends once: by a reply, by its time-out, or by close(). What has ended leaves its queue before it is sent.
'use strict';
const { randomUUID } = require('node:crypto');
const { Dealer } = require('zeromq');
const { CoppiceError } = require('./errors');
const { checkId, outgoing, plainFeatures, pack, unpack } = require('./wire');
const { Actions, Publisher } = require('./streams');

const BATCHES = new Set(['decide', 'rank', 'feedback']);
const AGAIN = new Set(['busy', 'not_durable']); // nothing was learned yet: the same is sent again
const DEFAULTS = { timeout: 10000, retry: 500, batch: 64, messages: 4 };
const LACKING = { code: 'internal', message: 'the reply lacks an item' };
const SEND_WAIT = 100; // milliseconds that a message waits for a connection before its calls are looked at again
const LARGE = 1024 * 1024; // bytes; a daemon's limit unless configured. On far more it ends the connection
const MOST_LOSSES = 3; // of the connection under a large message, until that is taken for the reason
const LONGEST_PATIENCE = 3200; // milliseconds until a connection that cannot be made is given up; at first, SEND_WAIT

class Client {
  #endpoints;
  #place = 0; // of the one that the socket is connected to
  #moves = 0; // since something was answered
  #stuckSince; // nothing could be sent
  #patience = SEND_WAIT;
  #options;
  #socket;
  #queues = new Map(); // verb and model -> {verb, model, calls, sent, stale: some of the calls have ended}
  #messages = new Map(); // seq -> a message that was sent
  #seq = 0;
  #sending = false;
  #closed = false;
  #version; // of the daemon that sent the last reply

  constructor(endpoints, options = {}) {
    this.#endpoints = Array.isArray(endpoints) ? [...endpoints] : [endpoints];
    if (this.#endpoints.length === 0) throw new TypeError('endpoints: an empty list, expected at least one');
    this.#options = { ...DEFAULTS, ...options };
    this.#connect();
  }

  /** A decision for the context; without an id it gets one. */
  async decide(model, context, options) {
    return this.#ask('decide', model, outgoing({ ...context, id: context.id ?? randomUUID() }), context.id, options);
  }

  async rank(model, context, options) {
    return this.#ask('rank', model, outgoing({ ...context, id: context.id ?? randomUUID() }), context.id, options);
  }

  /** loss: a number, two, or an object of named losses. */
  async feedback(model, id, loss, more = {}, options = undefined) {
    const named = loss !== null && typeof loss === 'object' && !Array.isArray(loss);
    return this.#ask('feedback', model, outgoing({ ...more, id, [named ? 'losses' : 'loss']: loss }), id, options);
  }

  async activate(model, id, options) {
    return this.#ask('activate', model, { id: checkId(id) }, id, options);
  }

  /** what: {id} or {x, mask?, c?}. */
  async explain(model, what, options) {
    const body = { ...what };
    if (what.id !== undefined) body.id = checkId(what.id);
    if (what.x !== undefined) body.x = plainFeatures(what.x);
    if (Array.isArray(what.c)) body.c = what.c.map(plainFeatures);
    return this.#ask('explain', model, body, what.id, options);
  }

  async status(model = '', options) {
    return this.#ask('status', model, {}, undefined, options);
  }

  /** Every call that has no answer yet is refused with the code `closed`. */
  close() {
    if (this.#closed) return;
    this.#closed = true;
    for (const queue of this.#queues.values())
      for (const call of [...queue.calls]) this.#fail(call, new CoppiceError('closed', 'the client was closed'));
    for (const message of [...this.#messages.values()]) {
      clearTimeout(message.timer);
      for (const call of message.calls) this.#fail(call, new CoppiceError('closed', 'the client was closed'));
    }
    this.#messages.clear();
    this.#socket.close();
  }

  /* ---- calls ---- */

  #ask(verb, model, body, id, options = {}) {
    if (this.#closed) return Promise.reject(new CoppiceError('closed', 'the client was closed'));
    const { timeout, retry } = { ...this.#options, ...options };
    const bytes = pack(body); // what cannot be packed is refused here
    return new Promise((resolve, reject) => {
      const call = { body, bytes, id, resolve, reject, retry, sends: 0, losses: 0, done: false, queue: undefined };
      call.timer = setTimeout(() => this.#fail(call,
        new CoppiceError('timeout', `no answer of ${this.#endpoints.join(', ')} within ${timeout} ms; is coppiced running?`, id)), timeout);
      put(this.#queue(verb, model), 'push', [call]);
      this.#flushSoon();
    });
  }

  /** Of the coppiced that sent the last reply. */
  get daemonVersion() {
    return this.#version;
  }

  get #pause() {
    return this.#options.retry || DEFAULTS.retry;
  }

  #queue(verb, model) {
    const key = `${verb} ${model}`;
    if (!this.#queues.has(key)) this.#queues.set(key, { verb, model, calls: [], sent: 0, stale: false });
    return this.#queues.get(key);
  }

  #succeed(call, reply) {
    if (!end(call)) return;
    delete reply.seq;
    if (call.id !== undefined && reply.id !== undefined) reply.id = call.id;
    call.resolve(reply);
  }

  #fail(call, error) {
    if (end(call)) call.reject(error);
  }

  /* ---- the connection ---- */

  #connect() {
    this.#socket = new Dealer({
      immediate: true, linger: 0, sendTimeout: SEND_WAIT, reconnectInterval: 20, reconnectMaxInterval: 1000,
      heartbeatInterval: 5000, heartbeatTimeout: 15000, ...this.#options.socket,
    });
    const socket = this.#socket;
    socket.events.on('disconnect', () => this.#lost(socket));
    socket.connect(this.#endpoints[this.#place]);
    this.#receive(socket);
  }

  /** The connection ended: what was under way on it is sent again. */
  #lost(socket) {
    const sent = [...this.#messages.values()].filter(message => message.socket === socket && message.timer !== undefined);
    for (const message of this.#closed ? [] : sent.filter(message => message.counted)) {
      clearTimeout(message.timer);
      const large = message.length > LARGE, losses = large ? ++message.calls[0].losses : 0;
      if (losses < MOST_LOSSES) {
        this.#unanswered(message);
        continue;
      }
      this.#messages.delete(message.seq);
      this.#uncount(message);
      message.calls[0].losses = 0;
      const text = `the connection ended whenever a message of ${message.length} bytes was sent`;
      this.#settle(message, false, { code: 'too_large', message: text });
    }
    this.#flushSoon();
  }

  /** No connection came. Each time in a row it waits longer, so that slow links come to be connected, too. */
  #giveUp(socket) {
    const now = performance.now();
    this.#stuckSince ??= now - SEND_WAIT;
    if (now < this.#stuckSince + this.#patience) return;
    this.#stuckSince = now;
    this.#patience = Math.min(2 * this.#patience, LONGEST_PATIENCE);
    this.#move(socket, undefined, true);
  }

  /** Another instance, unless there is none (anew: the lone one) or `from` was left already; place: which, where that
   * is known. */
  #move(from, place = (this.#place + 1) % this.#endpoints.length, anew = false) {
    if (this.#closed || from !== this.#socket || (place === this.#place && !anew)) return;
    this.#place = place;
    this.#moves++;
    this.#connect();
    from.close();
    for (const message of [...this.#messages.values()].filter(message => message.socket === from)) {
      clearTimeout(message.timer);
      this.#messages.delete(message.seq);
      this.#uncount(message);
      put(message.queue, 'unshift', message.calls.filter(call => call.retry !== false));
    }
    this.#flushSoon();
  }

  /** Its calls wait behind the others; `leader`: the endpoints of the one that leads, divided by spaces, if it is known. */
  #moveToLeader(message, calls, leader) {
    const named = String(leader ?? '').split(' ').map(one => this.#endpoints.indexOf(one)).find(place => place >= 0);
    if (this.#moves < this.#endpoints.length) {
      put(message.queue, 'push', calls);
      this.#move(message.socket, named);
    } else {
      setTimeout(() => {
        this.#moves = 0;
        this.#move(message.socket, named);
      }, this.#pause).unref();
      this.#later(message.queue, calls);
    }
  }

  /* ---- messages ---- */

  #flushSoon() {
    if (this.#sending || this.#closed) return;
    this.#sending = true;
    setImmediate(() => this.#flush().finally(() => {
      this.#sending = false;
      if (this.#next() !== undefined) this.#flushSoon(); // a call that came behind the last look
    }));
  }

  /** A queue with calls and room for another message; undefined: there is none. */
  #next() {
    for (const queue of this.#queues.values()) {
      if (queue.stale) queue.calls = queue.calls.filter(call => !call.done);
      queue.stale = false;
      if (queue.calls.length > 0 && queue.sent < this.#options.messages) return queue;
    }
    return undefined;
  }

  async #flush() {
    for (let queue; !this.#closed && (queue = this.#next()) !== undefined;) {
      const count = BATCHES.has(queue.verb) ? Math.min(queue.limit ?? this.#options.batch, queue.calls.length) : 1;
      const message = { queue, seq: this.#seq++, calls: queue.calls.splice(0, count) };
      for (const call of message.calls) call.queue = undefined;
      this.#messages.set(message.seq, message); // before the reply can come
      queue.sent++;
      message.counted = true;
      const socket = message.socket = this.#socket;
      try {
        const parts = frames(message);
        message.length = parts[2].length;
        await socket.send(parts);
      } catch (error) {
        this.#messages.delete(message.seq);
        this.#uncount(message);
        if (error.code === 'EAGAIN' || socket !== this.#socket) { // there is no connection
          put(queue, 'unshift', message.calls);
          this.#giveUp(socket);
        } else for (const call of message.calls) this.#fail(call, error);
        continue;
      }
      this.#stuckSince = undefined;
      this.#patience = SEND_WAIT;
      const sends = Math.max(...message.calls.map(call => call.sends++));
      if (this.#messages.has(message.seq))
        message.timer = setTimeout(() => this.#unanswered(message), this.#pause * 2 ** Math.min(sends, 4));
    }
  }

  #uncount(message) {
    if (message.counted) message.queue.sent--;
    message.counted = false;
  }

  /** Its calls are sent again; the message stays known as long as one of them waits, for its reply may be late. */
  #unanswered(message) {
    this.#uncount(message);
    this.#move(message.socket);
    const waiting = message.calls.filter(call => !call.done);
    if (waiting.length === 0) {
      this.#messages.delete(message.seq);
      return;
    }
    put(message.queue, 'unshift', waiting.filter(call => call.retry !== false));
    message.timer = setTimeout(() => this.#messages.delete(message.seq), this.#options.timeout).unref();
    this.#flushSoon();
  }

  async #receive(socket) {
    try {
      for await (const [status, body] of socket) {
        const reply = readable(body);
        const message = this.#messages.get(reply?.seq) ?? (isUnread(reply) ? this.#longest(socket) : undefined);
        if (message === undefined) continue; // every call of it has its answer
        this.#messages.delete(message.seq);
        this.#version = reply.version ?? this.#version;
        if (message.queue.verb !== 'status') delete reply.version;
        clearTimeout(message.timer);
        this.#uncount(message);
        const ok = status.toString() === 'ok';
        if (ok) this.#moves = 0;
        this.#settle(message, ok, reply);
        this.#flushSoon();
      }
    } catch (error) {
      if (!this.#closed && socket === this.#socket) throw error;
    }
  }

  /** What the daemon refused without reading it, and so without its number. */
  #longest(socket) {
    const sent = [...this.#messages.values()].filter(message => message.socket === socket);
    return sent.reduce((most, message) => most === undefined || message.length > most.length ? message : most, undefined);
  }

  #settle(message, ok, reply) {
    if (!ok && reply.code === 'too_large' && message.calls.length > 1) {
      message.queue.limit = Math.max(1, message.calls.length >> 1);
      put(message.queue, 'unshift', message.calls);
      return;
    }
    const again = [], elsewhere = [];
    message.calls.forEach((call, i) => {
      const own = ok && BATCHES.has(message.queue.verb) ? reply.items?.[i] ?? LACKING : reply;
      if (own.code === undefined) this.#succeed(call, own);
      else if (AGAIN.has(own.code) && call.retry !== false) again.push(call);
      else if (own.code === 'not_leader' && this.#endpoints.length > 1 && call.retry !== false) elsewhere.push(call);
      else this.#fail(call, new CoppiceError(own.code, own.message, call.id));
    });
    if (again.length > 0) this.#later(message.queue, again);
    if (elsewhere.length > 0) this.#moveToLeader(message, elsewhere, reply.leader);
  }

  #later(queue, calls) {
    setTimeout(() => {
      put(queue, 'push', calls);
      this.#flushSoon();
    }, this.#pause).unref();
  }
}

/** Calls that have not ended and do not wait already begin to wait: behind the others (push) or before them (unshift). */
function put(queue, how, calls) {
  const waiting = calls.filter(call => !call.done && call.queue === undefined);
  for (const call of waiting) call.queue = queue;
  queue.calls[how](...waiting);
}

/** False: it has ended before. */
function end(call) {
  if (call.done) return false;
  call.done = true;
  clearTimeout(call.timer);
  if (call.queue !== undefined) call.queue.stale = true;
  return true;
}

/** undefined: no MessagePack. */
const isUnread = reply => reply?.code === 'too_large' && reply.seq === undefined;

function readable(body) {
  try {
    return unpack(body);
  } catch {
    return undefined;
  }
}

/** {items: [...], seq}, its items already packed; or the one body with seq. */
function frames({ queue: { verb, model }, seq, calls }) {
  if (!BATCHES.has(verb)) return [verb, model, pack({ ...calls[0].body, seq })];
  const head = Buffer.from('\x82\xa5items\xdd\0\0\0\0', 'latin1'), tail = pack('seq');
  head.writeUInt32BE(calls.length, head.length - 4);
  return [`${verb}_batch`, model, Buffer.concat([head, ...calls.map(call => call.bytes), tail, pack(seq)])];
}

module.exports = { Client, CoppiceError, Actions, Publisher };
