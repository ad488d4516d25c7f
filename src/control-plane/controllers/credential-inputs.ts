/** Gateways, DestinationRules, Pods, Secrets and ConfigMaps in; those of the last three that a look at credentials needs, and news of them, out. */
import type { Collection } from "../../collections/index.ts";
import { type CredentialReferences, credentialReferences } from "../../config/index.ts";
import { type KubeObject, labelPairs, matchesLabels } from "../../model/index.ts";

export interface CredentialInputs {
  current(): readonly KubeObject[];
  /** Calls back when what is current may be of another kind or age; returns the way to stop. */
  subscribe(changed: () => void): () => void;
}

export interface CredentialInputsOptions {
  objects(group: string, kind: string): Collection<KubeObject>;
  /** How often certificates are looked at again, which time alone makes expire. */
  readonly lookMs?: number | undefined;
}

const istio = "networking.istio.io";
const hourMs = 3_600_000;

export function createCredentialInputs({ objects, lookMs = hourMs }: CredentialInputsOptions): CredentialInputs {
  const users = [objects(istio, "Gateway"), objects(istio, "DestinationRule")];
  const holders = [objects("", "Secret"), objects("", "ConfigMap")];
  const pods = objects("", "Pod");
  const known = new WeakMap<KubeObject, CredentialReferences>();
  let names: ReadonlySet<string> = new Set();
  let selectors: readonly Readonly<Record<string, string>>[] = [];

  const referencesOf = (object: KubeObject): CredentialReferences => {
    const found = known.get(object) ?? credentialReferences(object);
    known.set(object, found);
    return found;
  };
  const readReferences = (): void => {
    const references = users.flatMap((all) => listOf(all)).map(referencesOf);
    names = new Set(references.flatMap((reference) => reference.names));
    const distinct = new Map(
      references.flatMap(({ selector }) => (selector ? [[labelPairs(selector).join(), selector]] : [])),
    );
    // Where nobody names a credential no Pod is of interest.
    selectors = names.size === 0 ? [] : [...distinct.values()];
  };
  const isSelected = (pod: KubeObject | undefined): boolean =>
    pod !== undefined && selectors.some((selector) => matchesLabels(selector, pod.metadata.labels ?? {}));

  return {
    current() {
      readReferences();
      const held = holders.flatMap((all) => {
        const keys = all.keys().filter((key) => names.has(key.slice(key.indexOf("/") + 1)));
        return keys.flatMap((key) => all.get(key) ?? []);
      });
      return [...held, ...(selectors.length === 0 ? [] : listOf(pods).filter(isSelected))];
    },
    subscribe(changed) {
      const timer = setInterval(changed, lookMs).unref();
      const stops = [
        ...holders.map((all) => all.subscribe((key) => names.has(key.slice(key.indexOf("/") + 1)) && changed())),
        pods.subscribe((_key, now, before) => {
          // One more or less of many makes no difference, but Pods of gateways do not come and go all the time.
          if (isSelected(now) !== isSelected(before)) changed();
        }),
      ];
      return () => {
        clearInterval(timer);
        for (const stop of stops) stop();
      };
    },
  };
}

const listOf = (objects: Collection<KubeObject>): readonly KubeObject[] =>
  objects.keys().flatMap((key) => objects.get(key) ?? []);
