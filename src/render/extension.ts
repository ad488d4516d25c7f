/** Names of extensions in; their configuration, for the filters that ask for it by ECDS, out. */
import { TypedExtensionConfigSchema } from "../gen/envoy/config/core/v3/extension_pb.js";
import { objectName, types } from "../model/index.ts";
import { attachedExtensions, namedExtension, wasmExtensionConfig } from "./extensions/index.ts";
import type { ResourceKind } from "./kind.ts";
import { listenerKind } from "./listener.ts";
import { referencesOf } from "./listener-references.ts";
import { encodePart } from "./view.ts";

export const extensionKind: ResourceKind = {
  type: types.extension,
  /** Only what some filter asks for; without extensions no listener is looked at. */
  names(view) {
    const isAny = attachedExtensions(view).some(({ code }) => code.kind === "wasm");
    return isAny ? referencesOf(view, "plain", listenerKind).extensions : [];
  },
  render(view, name) {
    const extension = namedExtension(view, name);
    if (!extension) return undefined;
    view.mesh.graph.note(objectName(extension.object.kind, extension.object), "spec");
    const config = wasmExtensionConfig(view, extension);
    return config && encodePart(TypedExtensionConfigSchema, config);
  },
};
