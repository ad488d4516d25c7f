/** The parts of a control plane in; what people and commands may read of it out: debug paths, verdicts on changes, the page. */
import type { Collection } from "../../collections/index.ts";
import type { KubeObject } from "../../model/index.ts";
import { createDebugTypes, type DebugSources, type HttpHandler } from "../../ops/index.ts";
import type { EnvoyTypes } from "../../render/index.ts";
import type { OtherTypes } from "../../xds/index.ts";
import { createConfigDump, createConfigDumpMessages } from "../debug/config-dump.ts";
import { createDebugViews, type DebugViewInputs } from "../debug/views.ts";
import { createDiffView, createLiveDiff } from "../diff/index.ts";
import { createPage, kindNames } from "../page.ts";
import type { PatchReports } from "../patch-reports.ts";
import { createProgrammed, createProgrammedView, type Programmed } from "../programmed/index.ts";
import type { ControlledSource } from "../source/resource-source.ts";
import type { Stages } from "../stages.ts";
import { createTapSessions, createTapView, createTrafficView, type Traffic } from "../traffic/index.ts";
import { createTrustView, type Trust } from "../trust/index.ts";
import { createLiveWhy, createObjectOf, createWhyView } from "../why/index.ts";
import type { Plane } from "./plane.ts";
import type { Xds } from "./xds.ts";

export interface ReadingInputs {
  readonly stages: Stages;
  /** As the stages were told, for the shadow on which changes are tried. */
  readonly configMap: string;
  readonly resources: ControlledSource;
  readonly envoyTypes: EnvoyTypes;
  readonly patchReports: PatchReports;
  readonly xds: Xds;
  readonly trust: Trust;
  readonly traffic: Traffic;
  readonly injectSettings: DebugViewInputs["injectSettings"];
}

export interface Reading {
  /** Which generations of their objects proxies have. */
  readonly programmed: Programmed;
  readonly debug: DebugSources;
  /** The same over xDS. */
  readonly debugTypes: OtherTypes;
  readonly page: HttpHandler | undefined;
  /** Resolves when what was begun to be written is written. */
  close(): Promise<void>;
}

export function createReading(plane: Plane, inputs: ReadingInputs): Reading {
  const { options, graph, watched, metrics, client, signal } = plane;
  const { stages, resources, trust, traffic, envoyTypes } = inputs;
  const { ads, quarantine, refusals, refusalsByObject } = inputs.xds;
  const { now, log, monotonicMs } = options;
  const kinds: ReadonlyMap<string, Collection<KubeObject>> = new Map(
    kindNames().map(([name, { group, kind }]) => [name, watched.objects(group, kind)]),
  );
  const programmed = createProgrammed({
    ...{ graph, resources, ads, kinds },
    withheld: quarantine.of,
    isOpen: quarantine.isOpen,
    isReady: (kind) => kind !== "EnvoyFilter" || envoyTypes.current() !== undefined,
    onFault: (error) => log.error(`who has what objects made before: ${String(error)}`),
  });
  // What becomes of a request, by what proxies have been sent; and what a change would do to them, before it is one.
  const why = createLiveWhy({ ...{ stages, ads, resources, now }, objectOf: createObjectOf(kinds, watched.objects) });
  const shadow = createLiveDiff({
    ...{ graph, ads, objects: watched.all },
    settings: {
      ...{ domain: options.domain, cluster: options.cluster, configMap: inputs.configMap, revision: options.revision },
      ...(options.ownHostsOnly === undefined ? {} : { ownHostsOnly: options.ownHostsOnly }),
    },
  });
  const { diff } = shadow;
  const taps = createTapSessions({ ...traffic, monotonicMs, log: log.scope("traffic") });
  const written: Promise<void>[] = [];
  const page = createPage(options.dashboard, {
    ...{ graph, stages, ads, resources, programmed, refusals, refusalsByObject, trust, metrics, now, why, diff },
    ...{ kinds, objects: watched.objects, patches: inputs.patchReports, traffic, taps, client },
    ...{ monotonicMs, access: options.access, log: log.scope("page"), signal },
    onEnd: (last) => written.push(last),
  });
  const views = createDebugViews({
    ...{ stages, ads, resources, objects: watched.objects, injectSettings: inputs.injectSettings },
    configDump: createConfigDump(resources, ads),
    cluster: options.cluster,
    domain: options.domain,
  })
    .set("ca", createTrustView(trust))
    .set("programmedz", createProgrammedView(programmed))
    .set("trafficz", createTrafficView(traffic))
    .set("whyz", createWhyView(why))
    .set("diffz", createDiffView(diff))
    .set("tapz", createTapView(taps));
  const debug: DebugSources = { systemNamespace: options.namespace, ads, refusals, views };
  return {
    programmed,
    debug,
    debugTypes: createDebugTypes({ ...debug, configDumpMessages: createConfigDumpMessages(resources, ads) }),
    page,
    async close() {
      await Promise.all([shadow.close(), ...written]);
    },
  };
}
