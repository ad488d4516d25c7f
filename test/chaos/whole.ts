/** A mesh in; what of it is not as it should be, in words, out. */
import { type KubeClient, kubeKinds } from "../../src/kube/index.ts";
import { readList, readRecord } from "../../src/lib/index.ts";

const { pods } = kubeKinds;
const answerMs = 3_000;

export async function missingParts(
  api: KubeClient,
  addresses: Readonly<Record<string, string>>,
  names: readonly string[],
): Promise<readonly string[]> {
  const checks = [
    missingControlPlane(addresses),
    inTime(missingPods(api, names), "the API"),
    missingStreams(addresses, names),
  ];
  return (await Promise.all(checks)).flat();
}

async function missingControlPlane(addresses: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const ready = await fetch(`http://${addresses.http}/ready`, { signal: AbortSignal.timeout(answerMs) }).then(
    ({ ok }) => ok,
    () => false,
  );
  return ready ? [] : ["the control plane is not ready"];
}

async function missingPods(api: KubeClient, names: readonly string[]): Promise<readonly string[]> {
  const { items } = await api.list(pods, { namespace: "default" });
  const ready = new Set(
    items
      .filter(({ status }) =>
        readList(readRecord(status).conditions)
          .map(readRecord)
          .some(({ type, status: is }) => type === "Ready" && is === "True"),
      )
      .map(({ metadata }) => metadata.name),
  );
  return names.filter((name) => !ready.has(name)).map((name) => `Pod ${name} is not ready`);
}

/** Connected, and with everything acknowledged that it was sent. */
export async function missingStreams(
  addresses: Readonly<Record<string, string>>,
  names: readonly string[],
): Promise<readonly string[]> {
  const listed: unknown = await fetch(`http://${addresses.monitoring}/debug/syncz`, {
    signal: AbortSignal.timeout(answerMs),
  }).then(
    (answer) => answer.json(),
    () => [],
  );
  const inStep = new Set(
    readList(listed)
      .map(readRecord)
      .filter((proxy) => ["cluster", "listener", "route", "endpoint"].every((type) => isAcknowledged(proxy, type)))
      .map(({ proxy }) => String(proxy)),
  );
  return names.filter((name) => !inStep.has(`${name}.default`)).map((name) => `proxy ${name} is not in step`);
}

const isAcknowledged = (proxy: Readonly<Record<string, unknown>>, type: string): boolean =>
  proxy[`${type}_sent`] === proxy[`${type}_acked`];

function inTime(asked: Promise<readonly string[]>, whom: string): Promise<readonly string[]> {
  const late = new Promise<readonly string[]>((resolve) => {
    setTimeout(() => resolve([`${whom} does not answer`]), answerMs).unref();
  });
  return Promise.race([asked.catch((error: unknown) => [`${whom}: ${String(error).slice(0, 200)}`]), late]);
}
