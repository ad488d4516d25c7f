/** Services: those whose objects are seen, without endpoints, routes and objects that are hidden. */
import type { ServiceDetail, ServiceReads } from "../../../read-api/index.ts";
import { seenEffects } from "./effects.ts";
import { ofObject } from "./kind-in-namespace.ts";
import type { Sight } from "./sight.ts";

export function visibleServices(reads: ServiceReads, sight: Sight): ServiceReads {
  return {
    async services() {
      return sight.seen(await reads.services(), ({ object }) => [ofObject(object)]);
    },
    async service(id, looked) {
      const found = await reads.service(id, { ...looked, sees: await sight.pods() });
      const service = await sight.seenOne(found, ({ object }) => [ofObject(object)]);
      return service && seenService(service, sight);
    },
  };
}

async function seenService(service: ServiceDetail, sight: Sight): Promise<ServiceDetail> {
  const names = await sight.hiddenNames();
  const routes = await sight.seen(service.routes, ({ object }) => [ofObject(object)]);
  return {
    ...service,
    endpointList: service.endpointList.filter(({ workload, identity }) => !names(`${workload} ${identity}`)),
    versions: await seenEffects(service.versions, sight),
    policies: await seenEffects(service.policies, sight),
    routes: routes.filter(({ to, marks }) => !names(JSON.stringify([to, marks]))),
    objects: await sight.seen(service.objects, ({ object }) => [ofObject(object)]),
  };
}
