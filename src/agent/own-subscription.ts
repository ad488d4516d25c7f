/** What the agent wants to know of the control plane itself, as messages that go over the stream that Envoy has. */

/** Requests and responses of incremental xDS, encoded. */
export interface OwnSubscription {
  readonly typeUrl: string;
  /** A few resources that everybody gets whole: these can be asked for on a stream of the other variant too. */
  readonly isWhole?: boolean;
  /** A stream is there: `send` takes requests until what is returned has been called. */
  attach(send: (request: Uint8Array) => void): () => void;
  /** A response of the type; the answer to it is returned, or nothing where it cannot be read. */
  receive(response: Uint8Array): Uint8Array | undefined;
}
