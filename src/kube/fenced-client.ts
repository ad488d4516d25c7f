/** A client and an election in; the same client out, whose writes are refused from the moment that leadership may have ended. */
import { FairleadError } from "../lib/index.ts";
import type { KubeClient } from "./client.ts";
import type { LeaderElection } from "./election.ts";

/** After a pause of the whole process, work that was under way would go on writing before any timer has fired. */
export function fencedClient(client: KubeClient, election: Pick<LeaderElection, "leading">): KubeClient {
  const fenced =
    <A extends readonly unknown[], R>(write: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      if (!election.leading) throw new FairleadError("unavailable", "this process no longer leads");
      return await write(...args);
    };
  return {
    ...client,
    create: fenced(client.create),
    update: fenced(client.update),
    patch: fenced(client.patch),
    patchStatus: fenced(client.patchStatus),
    delete: fenced(client.delete),
  };
}
