/** The kinds of resources that are rendered, in the order in which they are pushed. */
import { clusterKind } from "./cluster.ts";
import { endpointKind } from "./endpoint.ts";
import { extensionKind } from "./extension.ts";
import type { ResourceKind } from "./kind.ts";
import { listenerKind } from "./listener.ts";
import { nameTableKind } from "./name-table.ts";
import { routeKind } from "./route.ts";
import { secretKind } from "./secret.ts";

export const resourceKinds: readonly ResourceKind[] = [
  clusterKind,
  endpointKind,
  listenerKind,
  routeKind,
  secretKind,
  extensionKind,
  nameTableKind,
];
