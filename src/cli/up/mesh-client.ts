/**
 * A data folder in; a client of its API out, that finds the API again when `up` was stopped and started: the address and
 * the credentials may then be others.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { createKubeClient, type KubeClient, loadKubeconfig } from "../../kube/index.ts";
import { FairleadError } from "../../lib/index.ts";

export async function createMeshClient(dir: string): Promise<KubeClient> {
  const file = join(dir, "kubeconfig");
  const versionOf = (): string => {
    const found = statSync(file, { throwIfNoEntry: false });
    return found ? `${found.ino} ${found.mtimeMs}` : "";
  };
  const load = async (): Promise<KubeClient> => createKubeClient(await loadKubeconfig({ paths: [file], env: {} }));
  let version = versionOf();
  let current = await load();

  const renew = async (): Promise<boolean> => {
    const now = versionOf();
    if (now === version || now === "") return false;
    const renewed = await load();
    current.close();
    [version, current] = [now, renewed];
    return true;
  };
  /** A request that reached nobody, or was refused for its credentials, changed nothing: it is safe to ask again. */
  const again = async <T>(ask: (client: KubeClient) => Promise<T>): Promise<T> => {
    try {
      return await ask(current);
    } catch (error) {
      const lost = error instanceof FairleadError && (error.code === "unavailable" || error.code === "unauthenticated");
      if (!lost || !(await renew().catch(() => false))) throw error;
      return await ask(current);
    }
  };
  return {
    get: (...args) => again((client) => client.get(...args)),
    find: (...args) => again((client) => client.find(...args)),
    list: (...args) => again((client) => client.list(...args)),
    create: (...args) => again((client) => client.create(...args)),
    update: (...args) => again((client) => client.update(...args)),
    patch: (...args) => again((client) => client.patch(...args)),
    patchStatus: (...args) => again((client) => client.patchStatus(...args)),
    delete: (...args) => again((client) => client.delete(...args)),
    createSubresource: (...args) => again((client) => client.createSubresource(...args)),
    watch: (...args) => current.watch(...args),
    stream: (...args) => again((client) => client.stream(...args)),
    text: (...args) => again((client) => client.text(...args)),
    raw: (...args) => again((client) => client.raw(...args)),
    close: () => current.close(),
  };
}
