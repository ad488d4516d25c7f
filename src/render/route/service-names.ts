/** A service's port and the namespace that it is called from in; every name that requests for it have out, made once for all lists that it is on. */
import type { BuildFacet } from "../../model/index.ts";
import { buildFacet } from "../facets.ts";
import { keyOf, recipe, wordsOf } from "../recipe.ts";
import type { View } from "../view.ts";
import { type Domains, hostPort, kubernetesName, serviceDomains } from "./domains.ts";

export interface ServiceNames extends Domains {
  /** In lower case. */
  readonly host: string;
  /** Of its virtual host. */
  readonly name: string;
  /** Under which no variant of another's name may be served. */
  readonly reserved: readonly string[];
  /** The names in lower case. */
  readonly keys: readonly string[];
  /** From which it has bare names: its own and those of its aliases. */
  readonly namespaces: readonly string[];
  /** Names that only clients of the namespace have for it, and how many all have. */
  readonly bare: readonly string[];
  readonly usual: number;
}

export interface NamesInput {
  readonly service: string;
  readonly port: number;
  /** Of the client; "" for what everybody calls it. */
  readonly namespace: string;
  /** Where a listener serves all ports, or the client does not look past the port, each name is there with the port too. */
  readonly withPort: boolean;
  readonly aliases: readonly string[];
}

/** Undefined for a service that is not there. */
export function serviceNames(view: View<BuildFacet>, input: NamesInput): ServiceNames | undefined {
  const { service, port, namespace, withPort, aliases } = input;
  return names(view, keyOf(service, String(port), namespace, withPort ? "with port" : "", ...aliases));
}

const names = recipe(buildFacet, "names of a service", (view, key): ServiceNames | undefined => {
  const [id = "", number = "", namespace = "", withPort = "", ...aliases] = wordsOf(key);
  const service = view.mesh.service(id);
  if (!service) return undefined;
  const { domain } = view.mesh;
  const port = Number(number);
  const options = { domain, aliases, port: withPort === "" ? undefined : port };
  const domains = serviceDomains(view.proxy, service, { ...options, namespace });
  const usual = namespace === "" ? domains : serviceDomains(view.proxy, service, { ...options, namespace: "" });
  const host = service.host.toLowerCase();
  const own = [service.host, ...aliases].flatMap((name) => kubernetesName(name, domain)?.namespace ?? []);
  return {
    ...domains,
    host,
    name: hostPort(host, port),
    reserved: [service.host, hostPort(service.host, port)],
    keys: domains.names.map((name) => name.toLowerCase()),
    namespaces: [...new Set(own)],
    bare: domains.names.filter((name) => !usual.names.includes(name)),
    usual: usual.names.length,
  };
});
