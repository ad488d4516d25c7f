/** Names of extensions in; their configuration, for the filters that ask for it by ECDS, out. */
import { TypedExtensionConfigSchema } from "../gen/envoy/config/core/v3/extension_pb.js";
import { objectName, types } from "../model/index.ts";
import { attachedExtensions, namedExtension, wasmExtensionConfig } from "./extensions/index.ts";
import { ownFacet } from "./facets.ts";
import { layersOf, type ResourceKind } from "./kind.ts";
import { layerRecipe } from "./layer.ts";
import { referencesOf } from "./listener/references.ts";
import { listenerKind } from "./listener.ts";
import { encodePart, resourceOf } from "./part.ts";
import { keyOf, resourceRecipe, wordsOf } from "./recipe.ts";

const extensionResource = resourceRecipe(ownFacet, types.extension, (view, key) => {
  const [name = ""] = wordsOf(key);
  const extension = namedExtension(view, name);
  if (!extension) return undefined;
  view.mesh.graph.note(objectName(extension.object.kind, extension.object), "spec");
  const config = wasmExtensionConfig(view, extension);
  return config && resourceOf(name, encodePart(TypedExtensionConfigSchema, config));
});

/** Only what some filter asks for. */
const extensions = layerRecipe(ownFacet, "extensions", (view) => {
  const names = referencesOf(layersOf(listenerKind, view)).extensions;
  return new Map(names.map((name) => [name, extensionResource.ref(view, keyOf(name))]));
});

export const extensionKind: ResourceKind = {
  type: types.extension,
  /** Without such extensions no listener is looked at. */
  refs: (view) => (attachedExtensions(view).some(({ code }) => code.kind === "wasm") ? [extensions.ref(view)] : []),
  render: (view, name) => extensionResource(view, keyOf(name)),
};
