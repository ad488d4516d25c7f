/** What proxies are sent in; the resources of one, with the objects that they were made from and the words in them, out. */
import { type ResourceType, types } from "../../model/index.ts";
import { findProxy } from "../../ops/index.ts";
import type { Cause, ResourceReads } from "../../read-api/index.ts";
import type { Renderer } from "../../render/index.ts";
import { type Ads, type ProxyStatus, shortName } from "../../xds/index.ts";
import type { ShowResource } from "../debug/config-dump.ts";
import type { ControlledSource } from "../source/resource-source.ts";
import { leadsTo } from "./leads-to.ts";
import { searchResources } from "./search.ts";

interface ResourceInputs {
  readonly ads: Ads;
  readonly resources: ControlledSource;
  readonly showResource: ShowResource;
}

export function createResourceReads(inputs: ResourceInputs): ResourceReads {
  return {
    resources(id, type) {
      const sent = sentTo(inputs, id, type);
      return sent && [...sent.renderer.all(sent.type).keys()].sort();
    },
    causes(id, type, names) {
      const sent = sentTo(inputs, id, type);
      return names.map((name) => (sent ? causesOf(sent, name) : []));
    },
    resource(id, type, name) {
      const sent = sentTo(inputs, id, type);
      const json = sent && inputs.showResource(sent.proxy.connectionId, sent.type, name);
      return json && { name, type, json, causes: causesOf(sent, name), next: nextOf(type, name, json) };
    },
    search(id, words, isSeen) {
      const types = searchedTypes.flatMap((type) => {
        const sent = sentTo(inputs, id, type);
        const show = (name: string) => sent && inputs.showResource(sent.proxy.connectionId, sent.type, name);
        return sent ? [{ type, names: [...sent.renderer.all(sent.type).keys()].sort(), show }] : [];
      });
      return types.length === 0 ? undefined : searchResources(types, words, isSeen);
    },
  };
}

const typeNamed = (name: string): ResourceType | undefined =>
  Object.values(types).find((type) => shortName(type) === name);

/** Secrets are shown by their names alone, and found in nothing. */
const searchedTypes = ["LDS", "RDS", "CDS", "EDS", "ECDS"] as const;

interface Sent {
  readonly proxy: ProxyStatus;
  readonly renderer: Renderer;
  readonly type: ResourceType;
}

/** A proxy is looked for among all of the mesh, so it is looked for once. */
function sentTo({ ads, resources }: ResourceInputs, id: string, short: string): Sent | undefined {
  const [proxy, type] = [findProxy(ads, id), typeNamed(short)];
  const renderer = proxy && resources.rendererOf(proxy.node);
  return renderer && type && { proxy, renderer, type };
}

const causesOf = ({ renderer, type }: Sent, name: string): readonly Cause[] => renderer.provenance(type, name).causes;

/** A cluster has the endpoints of its own name unless it names others. */
function nextOf(type: string, name: string, json: object): readonly { readonly type: string; readonly name: string }[] {
  const next = leadsTo(json).filter((one) => one.type !== type || one.name !== name);
  const hasOwn = type === "CDS" && "type" in json && json.type === "EDS" && !next.some((one) => one.type === "EDS");
  return hasOwn ? [...next, { type: "EDS", name }] : next;
}
