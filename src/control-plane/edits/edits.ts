/** Who looks at the page in; the function that applies what they write, with their own credentials, out. */
import type { ApplyAnswer, ApplyQuestion } from "../../dashboard/index.ts";
import { type ClusterAccess, createKubeClient, secretOfClaim } from "../../kube/index.ts";
import { FairleadError, type Logger } from "../../lib/index.ts";
import { applyObjects } from "./apply.ts";
import { createReadThread } from "./read-thread.ts";

export interface EditsOptions {
  /** How the control plane reaches the API; its own credentials are not used. */
  readonly access: ClusterAccess;
  /** Of who holds the secret of the page; absent: such may not edit. */
  readonly ownerAccess?: ClusterAccess | undefined;
  readonly log: Logger;
}

/** `bearer` is a token of the API; undefined for who holds the secret. */
export type Edit = (question: ApplyQuestion, bearer: string | undefined) => Promise<ApplyAnswer>;

export function createEdits({ access, ownerAccess, log }: EditsOptions): Edit {
  const read = createReadThread();
  return async (question, bearer) => {
    const client = createKubeClient(accessOf(bearer));
    try {
      const answer = await applyObjects(client, question, read);
      for (const { object } of answer.applied) log.info(`${object} was applied from the page`);
      return answer;
    } finally {
      client.close();
    }
  };

  function accessOf(bearer: string | undefined): ClusterAccess {
    if (bearer === undefined && ownerAccess) return ownerAccess;
    // Such a claim says who somebody is, and proves nothing to the API.
    if (bearer === undefined || secretOfClaim(bearer) !== undefined)
      throw new FairleadError("forbidden", "there are no credentials of yours here to apply it with", {
        hint: "`fairlead dashboard --edit` applies with your kubeconfig",
      });
    return { ...access, credentials: async () => ({ token: bearer }) };
  }
}
