export {
  type BackupOptions,
  type BackupReport,
  backUp,
  type RestoreOptions,
  type RestoreReport,
  restore,
} from "./backup.ts";
export { controlPlaneUser } from "./control-plane-user.ts";
export {
  type ApiServer,
  type ApiServerOptions,
  adminUser,
  controlPlane,
  createApiServer,
  type KubeconfigUser,
} from "./server.ts";
export type { ServiceResolver } from "./webhook-call.ts";
