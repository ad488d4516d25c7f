export {
  type ApiServer,
  type ApiServerOptions,
  adminUser,
  controlPlane,
  createApiServer,
  type KubeconfigUser,
} from "./server.ts";
export type { ServiceResolver } from "./webhook-call.ts";
