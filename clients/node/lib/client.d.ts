/** Integers beyond 2^53 are bigints. */
export type Id = string | number | bigint | Uint8Array;
/** Numbers in order, packed (the quick form), or by name or index. */
export type Features = readonly number[] | Float32Array | Float64Array | Uint8Array | { readonly [name: string]: unknown };
/** One flag for each arm or candidate, or the names of the eligible arms of a model with arm_names. */
export type Mask = readonly (boolean | 0 | 1)[] | readonly string[] | Uint8Array;
/** By its number or, of a model with arm_names, by its name. */
export type Arm = number | string;

export interface Context {
  /** Of this decision; without it decide and rank make one. */
  id?: Id;
  x: Features;
  /** The candidates, for rank. */
  c?: readonly Features[];
  mask?: Mask;
  /** Of the candidates: the answer then has the chosen one's as arm. */
  names?: string[];
  order?: boolean;
  probabilities?: boolean;
  /** Whom it is for, by which the control group is split. */
  unit?: Id;
  /** What an existing system decided, for an apprentice, or would, for a model whose baseline is the caller. */
  a?: Arm;
  p?: number;
  t?: number;
  defer?: boolean;
}

export interface Action {
  id: Id;
  /** The arm, or the candidate's place; not of a model with values. */
  a?: number;
  /** The arm's name, of a model with arm_names; the candidate's, where names were given. */
  arm?: string;
  p?: number;
  rev: number;
  greedy?: boolean;
  /** The baseline decided: for the control group, or since the policy's allowance is used up. */
  by?: 'holdout' | 'conservative';
  /** The option that raised `p`, or lowered it to the arm's largest share. */
  limit?: 'share_min' | 'share_max' | 'least_propensity';
  probabilities?: number[];
  order?: number[];
  repeated?: true;
  durable?: false;
  /** Of a model with values: its own, and those to try. */
  y?: number;
  probe?: number[];
}

export interface SelfContained {
  x?: Features;
  c?: Features;
  a?: Arm;
  p?: number;
  y?: number;
  unit?: Id;
}

export type Outcome = 'applied' | 'recorded' | 'duplicate' | 'late' | 'unknown';
export interface Result {
  id: Id;
  result: Outcome;
}

export type Code = 'bad_request' | 'bad_features' | 'bad_loss' | 'unknown_model' | 'unknown_verb' | 'too_large' | 'busy'
  | 'not_durable' | 'forbidden' | 'internal' | 'apprentice' | 'unknown_decision' | 'behind' | 'not_leader' | 'timeout' | 'closed';

export class CoppiceError extends Error {
  constructor(code: Code, message: string, id?: Id);
  /** A later daemon may have more of them: treat those as `internal`. */
  readonly code: Code;
  readonly id?: Id;
}

export interface CallOptions {
  /** Milliseconds until a call without an answer fails. */
  timeout?: number;
  /** Milliseconds until it is sent again; false: never. */
  retry?: number | false;
}

export interface SocketOptions {
  /** Options of the socket, as the package zeromq has them: curveServerKey, curvePublicKey, curveSecretKey, ... */
  socket?: { [option: string]: unknown };
}

export interface ClientOptions extends CallOptions, SocketOptions {
  /** Calls of one message at most. */
  batch?: number;
  /** Messages under way of one verb and model. */
  messages?: number;
}

export class Client {
  /** Several: the instances of a group of replicas, of which one leads. */
  constructor(addresses: string | readonly string[], options?: ClientOptions);
  decide(model: string, context: Context, options?: CallOptions): Promise<Action>;
  rank(model: string, context: Context & { c: readonly Features[] }, options?: CallOptions): Promise<Action>;
  feedback(model: string, id: Id, loss: number | readonly [number, number] | NamedLosses, more?: SelfContained,
    options?: CallOptions): Promise<Result>;
  activate(model: string, id: Id, options?: CallOptions): Promise<Result>;
  explain(model: string, what: { id: Id } | { x: Features; mask?: Mask; c?: readonly Features[]; t?: number },
    options?: CallOptions): Promise<{ [key: string]: unknown }>;
  status(model?: string, options?: CallOptions): Promise<{ [key: string]: unknown }>;
  /** Of the coppiced that sent the last reply; undefined before the first. */
  readonly daemonVersion: string | undefined;
  close(): void;
}

/** Of a model whose losses have names. */
export interface NamedLosses {
  readonly [name: string]: number;
}

export type Feedback = SelfContained & { id: Id } &
  ({ loss: number | readonly [number, number]; losses?: undefined } | { losses: NamedLosses; loss?: undefined });

export class Publisher {
  /** kind: contexts or feedback. name: of 1 to 60 bytes, this publisher's own. */
  constructor(address: string, kind: 'ctx' | 'fb', name: string, options?: { timeout?: number } & SocketOptions);
  /** The items in one message, once the daemon has subscribed. */
  publish(model: string, ...items: readonly (({ id: Id } & Context) | Feedback)[]): Promise<void>;
  /** After what was published has been sent. */
  close(): Promise<void>;
}

export class Actions implements AsyncIterable<Action> {
  /** queue: messages that wait to be read. */
  constructor(address: string, model: string, options?: { queue?: number } & SocketOptions);
  [Symbol.asyncIterator](): AsyncIterator<Action>;
  close(): void;
}
