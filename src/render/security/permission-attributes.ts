/** What is asked of the destination (`to`, and the keys of `when` that are about it): the attributes, by name. */
import { create } from "@bufbuild/protobuf";
import { type Permission, PermissionSchema } from "../../gen/envoy/config/rbac/v3/rbac_pb.js";
import { UriTemplateMatchConfigSchema } from "../../gen/envoy/extensions/path/match/uri_template/v3/uri_template_match_pb.js";
import { packAny } from "../build/any.ts";
import { type Attribute, allValues, eachValue } from "./attribute.ts";
import { cidr } from "./cidr.ts";
import { isPathTemplate, pathTemplate } from "./path-template.ts";
import { listWith, metadataMatch, oneOf, textValue } from "./token-match.ts";
import { headerMatch, wildcardMatch } from "./wildcard.ts";

type Rule = NonNullable<Parameters<typeof create<typeof PermissionSchema>>[1]>["rule"];
const permission = (rule: NonNullable<Rule>): Permission => create(PermissionSchema, { rule });

/** R23: host names are compared without regard to case. */
export const host: Attribute<Permission> = eachValue(true, (value) =>
  permission({ case: "header", value: headerMatch(":authority", value, true) }),
);

export const method: Attribute<Permission> = eachValue(true, (value) =>
  permission({ case: "header", value: headerMatch(":method", value) }),
);

/** R08: Envoy compares without query and fragment. */
export const path: Attribute<Permission> = eachValue(true, (value) =>
  isPathTemplate(value)
    ? template(pathTemplate(value))
    : permission({ case: "urlPath", value: { rule: { case: "path", value: wildcardMatch(value) } } }),
);

const template = (text: string | undefined): Permission | undefined =>
  text === undefined
    ? undefined
    : permission({
        case: "uriTemplate",
        value: {
          name: "uri-template",
          typedConfig: packAny(UriTemplateMatchConfigSchema, { pathTemplate: text }),
        },
      });

export const destinationPort: Attribute<Permission> = eachValue(false, (value) => {
  const port = /^\d+$/.test(value) ? Number(value) : Number.NaN;
  return port <= 65535 ? permission({ case: "destinationPort", value: port }) : undefined;
});

const destinationIp: Attribute<Permission> = eachValue(false, (value) => {
  const range = cidr(value);
  return range && permission({ case: "destinationIp", value: range });
});

const serverName: Attribute<Permission> = eachValue(false, (value) =>
  permission({ case: "requestedServerName", value: wildcardMatch(value) }),
);

const metadataPrefix = "experimental.envoy.filters.";

/** `experimental.envoy.filters.NAME[KEY]`: metadata that another filter left; a value in brackets is one of a list. */
function filterMetadata(key: string): Attribute<Permission> {
  const [filter = "", field] = splitOnce(key.replace(/^experimental\./, "").replace(/\]$/, ""), "[");
  return allValues(false, (values) => {
    if (field === undefined) return undefined;
    const matchers = values.map((value) =>
      value.startsWith("[") && value.endsWith("]")
        ? listWith(textValue(wildcardMatch(value.replace(/^[[\]]+|[[\]]+$/g, ""))))
        : textValue(wildcardMatch(value)),
    );
    return permission({ case: "metadata", value: metadataMatch(filter, [field], oneOf(matchers)) });
  });
}

function splitOnce(text: string, at: string): readonly [string, string | undefined] {
  const index = text.indexOf(at);
  return index < 0 ? [text, undefined] : [text.slice(0, index), text.slice(index + at.length)];
}

/** Undefined for keys that are not about the destination. */
export function permissionAttribute(key: string): Attribute<Permission> | undefined {
  if (key === "destination.ip") return destinationIp;
  if (key === "destination.port") return destinationPort;
  if (key === "connection.sni") return serverName;
  return key.startsWith(metadataPrefix) ? filterMetadata(key) : undefined;
}
