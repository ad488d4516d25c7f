export { claimBearer, claimName, claimSigner, secretOfClaim } from "./claim.ts";
export {
  createKubeClient,
  type DeleteOptions,
  type KubeClient,
  type ListAnswer,
  type PatchType,
  type WriteOptions,
} from "./client.ts";
export { type ElectionOptions, type LeaderElection, microTime, runLeaderElection } from "./election.ts";
export { createEventRecorder, type EventRecorder, type RecorderOptions } from "./event-recorder.ts";
export type { Credentials } from "./exec-credentials.ts";
export { fencedClient } from "./fenced-client.ts";
export { createHttpSource, type HttpSourceOptions } from "./http-source.ts";
export { inNamespace, isClusterScoped } from "./in-namespace.ts";
export { collectionPath, type KindRef, type ObjectRef, objectPath } from "./kind.ts";
export { kindRef, kubeKinds, meshKinds } from "./kinds.ts";
export { type ClusterAccess, inClusterAccess, type KubeconfigOptions, loadKubeconfig } from "./kubeconfig.ts";
export type { ListOptions, WatchOptions } from "./list-options.ts";
export { type LoadedObject, type LoadOptions, loadObjects, objectFiles, parseObjects } from "./load-objects.ts";
export { createConfigMapLock, createLeaseLock, type Lock } from "./lock.ts";
export { createMemorySource, type MemorySource } from "./memory-source.ts";
export { narrowObject } from "./narrow-kinds.ts";
export type { ObjectSource, WatchedKind, WatchScope } from "./object-source.ts";
export { type ForwardedPort, forwardPort } from "./port-forward.ts";
export {
  type AccessQuestion,
  requestToken,
  reviewAccess,
  reviewToken,
  type TokenOrder,
  type TokenVerdict,
} from "./reviews.ts";
export { type ApiStatus, apiStatus } from "./status.ts";
export type { WatchEvent } from "./watch-stream.ts";
