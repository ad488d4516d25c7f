/** Who calls in; the word that the call has ended, or a refusal where that client has too many open already, out. */
import { RpcError, status } from "../rpc/index.ts";

/** `client` is undefined for who calls from this machine by a socket. */
export type EnterCall = (client: string | undefined) => () => void;

export function createCallsPerClient(most: number): EnterCall {
  const open = new Map<string, number>();
  return (client) => {
    if (client === undefined) return () => {};
    const before = open.get(client) ?? 0;
    if (before >= most) throw new RpcError(status.resourceExhausted, "too many reporters of one client");
    open.set(client, before + 1);
    return () => {
      const left = (open.get(client) ?? 1) - 1;
      if (left > 0) open.set(client, left);
      else open.delete(client);
    };
  };
}
