/**
 * What a control plane lets others read of it, as data: the port that the page's handlers ask. What each read answers is in
 * the file of its subject. The page in the browser uses the same types, so nothing here may need more than a browser has.
 */
import type { ChangeReads } from "./changes.ts";
import type { DiffReads } from "./diff.ts";
import type { GraphReads } from "./graph.ts";
import type { IdentityReads } from "./identities.ts";
import type { LiveRequestReads } from "./live-requests.ts";
import type { NamespaceReads } from "./namespaces.ts";
import type { ObjectReads } from "./objects.ts";
import type { OverviewReads } from "./overview.ts";
import type { ProxyReads } from "./proxies.ts";
import type { ResourceReads } from "./resources.ts";
import type { ServiceReads } from "./services.ts";
import type { WhyReads } from "./why.ts";
import type { WorkloadReads } from "./workloads.ts";

export interface MeshReads
  extends ChangeReads,
    DiffReads,
    GraphReads,
    IdentityReads,
    LiveRequestReads,
    NamespaceReads,
    ObjectReads,
    OverviewReads,
    ProxyReads,
    ResourceReads,
    ServiceReads,
    WhyReads,
    WorkloadReads {
  /** Another text whenever answers may have become others. */
  moves(): string;
}
