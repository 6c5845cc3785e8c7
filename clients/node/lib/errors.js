// What a call can fail with. A refusal carries the protocol's code; the client's own failures have codes of their own.
'use strict';

class CoppiceError extends Error {
  constructor(code, message, id) {
    super(message);
    this.name = 'CoppiceError';
    this.code = code;
    if (id !== undefined) this.id = id;
  }
}

module.exports = { CoppiceError };
