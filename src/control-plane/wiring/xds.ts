/** What proxies are given in; the xDS server out, and what proxies refuse of it: which objects those were, and what is withheld. */
import { randomUUID } from "node:crypto";
import type { Source } from "../../collections/index.ts";
import { versionInfo } from "../../ops/index.ts";
import { type Ads, type AdsOptions, createAds, type OtherTypes, type ResourceSource } from "../../xds/index.ts";
import { createPolite } from "../politely.ts";
import { createGenerations, createQuarantine, type Filter, type Quarantine } from "../quarantine/index.ts";
import { findRefusals, type Refusal, type RefusalsByObject, refusalsByObject, sharedCauses } from "../refusals.ts";
import type { ControlledSource } from "../source/resource-source.ts";
import type { Stages } from "../stages.ts";
import type { Plane } from "./plane.ts";

export interface XdsInputs {
  /** What is sent, all that is beside resources among it. */
  readonly source: ResourceSource;
  readonly resources: ControlledSource;
  readonly stages: Stages;
  /** Generations before of EnvoyFilters, for proxies that refuse the newest. */
  readonly keptEnvoyFilters: Source<Filter>;
  readonly onHealth: NonNullable<AdsOptions["onHealth"]>;
  /** Types that are answered by somebody else. */
  readonly other: OtherTypes;
  readonly ready: () => boolean;
}

export interface Xds {
  readonly ads: Ads;
  /** EnvoyFilters that a proxy refuses are withheld from it, so that all else comes there. */
  readonly quarantine: Quarantine;
  /** Which objects of users it was that proxies refuse: looked for anew each time, in short turns. */
  refusals(): Promise<readonly Refusal[]>;
  refusalsByObject(): Promise<RefusalsByObject>;
  /** Told when these may be others. */
  onRefusals(listener: () => void): () => void;
}

export function createXds({ options, graph, metrics, signal }: Plane, inputs: XdsInputs): Xds {
  const { resources, stages } = inputs;
  const listeners = new Set<() => void>();
  const tell = (): void => {
    for (const listener of listeners) listener();
  };
  const ads: Ads = createAds({
    ...{ source: inputs.source, onHealth: inputs.onHealth, ready: inputs.ready, other: inputs.other, metrics },
    identifier: JSON.stringify({ Component: "istiod", ID: options.identity, Info: versionInfo() }),
    log: options.log.scope("ads"),
    now: options.now,
    uuid: randomUUID,
    limits: options.pushThrottle === undefined ? {} : { maxConcurrentPushes: options.pushThrottle },
    virtualHosts: options.virtualHosts ?? true,
    onRefusals() {
      quarantine.look();
      tell();
    },
    overload: options.overload,
  });
  const quarantine = createQuarantine({
    ...{ graph, resources, ads },
    generations: createGenerations(stages.configs.envoyFilters),
    kept: inputs.keptEnvoyFilters,
    onChange: tell,
  });
  signal.addEventListener("abort", quarantine.close, { once: true });
  const polite = createPolite();
  function* findAll(): Generator<undefined, readonly Refusal[]> {
    const refused = yield* findRefusals(ads.refusing(), sharedCauses(resources.rendererOf));
    return [...refused, ...quarantine.refusals()];
  }
  function* findByObject(): Generator<undefined, RefusalsByObject> {
    return yield* refusalsByObject(yield* findAll());
  }
  return {
    ads,
    quarantine,
    refusals: () => polite(findAll()),
    refusalsByObject: () => polite(findByObject()),
    onRefusals(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
