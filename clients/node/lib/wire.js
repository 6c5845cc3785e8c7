// Bodies as MessagePack. Integers keep their value: those that a number holds exactly are numbers, all others bigints,
// in both directions. Packed features are a Float32Array or a Buffer; other typed arrays are sent as numbers.
'use strict';
const { encode, decode } = require('@msgpack/msgpack');

const OPTIONS = { useBigInt64: true, ignoreUndefined: true };
const LEAST_ID = -(2n ** 63n), BEYOND_ID = 2n ** 64n;

/** An id as it is sent, or a TypeError: strings and binary of 1 to 64 bytes, integers of 64 bits. */
function checkId(id) {
  if (typeof id === 'string' || id instanceof Uint8Array) {
    const length = typeof id === 'string' ? Buffer.byteLength(id) : id.length;
    if (length >= 1 && length <= 64) return id;
  } else if (typeof id === 'bigint') {
    if (id >= LEAST_ID && id < BEYOND_ID) return id;
  } else if (Number.isSafeInteger(id)) {
    return BigInt(id);
  }
  throw new TypeError('id: expected a text or binary of 1 to 64 bytes, a safe integer, or a bigint of 64 bits');
}

function plainFeatures(x) {
  if (x instanceof Uint8Array || x instanceof Float32Array) return x;
  return ArrayBuffer.isView(x) ? Array.from(x) : x;
}

/** A context or feedback as it is sent. */
function outgoing(item) {
  const sent = { ...item, id: checkId(item.id) };
  if (item.x !== undefined) sent.x = plainFeatures(item.x);
  if (Array.isArray(item.c)) sent.c = item.c.map(plainFeatures);
  return sent;
}

function withNumbers(value) {
  if (typeof value === 'bigint')
    return value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
  if (Array.isArray(value)) return value.map(withNumbers);
  if (value === null || typeof value !== 'object' || value instanceof Uint8Array) return value;
  for (const key of Object.keys(value)) value[key] = withNumbers(value[key]);
  return value;
}

const pack = value => encode(value, OPTIONS);
const unpack = bytes => withNumbers(decode(bytes, OPTIONS));

module.exports = { checkId, outgoing, plainFeatures, pack, unpack };
