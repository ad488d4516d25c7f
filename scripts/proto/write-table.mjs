// A descriptor set of a newer Envoy in; proto/newer-types.json out: what it has beyond the pinned proto package. Such a set
// comes from `buf build` on Envoy's api folder, or from the module github.com/envoyproxy/go-control-plane/envoy.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fromBinary } from "@bufbuild/protobuf";
import {
  FileDescriptorSetSchema,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";
import { pinnedTypes, root } from "../gen.mjs";
import { validateRules } from "./newer-types.mjs";

/** Types of configuration, and whatever they use; version 2 is gone. */
const isOurs = (name) => /^(envoy|xds|udpa|cel)\//.test(name) && !/\/v2(alpha\d*)?\//.test(name);

function* messagesOf(list, path = "") {
  for (const message of list) {
    if (message.options?.mapEntry) continue;
    const at = path === "" ? message.name : `${path}.${message.name}`;
    yield [at, message];
    yield* messagesOf(message.nestedType, at);
  }
}

function* enumsOf(file) {
  for (const one of file.enumType) yield [one.name, one];
  for (const [path, message] of messagesOf(file.messageType))
    for (const one of message.enumType) yield [`${path}.${one.name}`, one];
}

const hasOneof = (field) => Object.hasOwn(field, "oneofIndex") && !field.proto3Optional;

function typeWord(field) {
  if (field.type === Type.ENUM) return `enum:${field.typeName}`;
  if (field.type === Type.MESSAGE) return field.typeName;
  return Type[field.type].toLowerCase();
}

function declare(message, field) {
  const entry = message.nestedType.find(
    (one) => one.options?.mapEntry && field.typeName.endsWith(`.${message.name}.${one.name}`),
  );
  const repeated = field.label === Label.REPEATED;
  const type = entry ? `map<${entry.field.map(typeWord).join(", ")}>` : typeWord(field);
  const before = entry ? "" : repeated ? "repeated " : field.proto3Optional ? "optional " : "";
  const after = hasOneof(field) ? ` in ${message.oneofDecl[field.oneofIndex].name}` : "";
  return `${before}${type} ${field.name} = ${field.number}${after}`;
}

/** By path, what is there and was not, or was different. */
function newerMessages(file, old) {
  const known = new Map(old ? messagesOf(old.messageType) : []);
  const out = {};
  for (const [path, message] of messagesOf(file.messageType)) {
    const before = known.get(path);
    const had = new Set(before?.field.map((field) => declare(before, field)));
    const fields = message.field.map((field) => declare(message, field)).filter((text) => !had.has(text));
    if (!before || fields.length > 0) out[path] = fields;
  }
  return out;
}

function newerEnums(file, old) {
  const known = new Map(old ? enumsOf(old) : []);
  const out = {};
  for (const [path, one] of enumsOf(file)) {
    const had = new Set(known.get(path)?.value.map(({ name }) => name));
    const values = one.value.filter(({ name }) => !had.has(name)).map(({ name, number }) => `${name} = ${number}`);
    if (values.length > 0) out[path] = values;
  }
  return out;
}

/** Fields and oneofs whose rule of validation is another now, or gone. */
function liftedRules(file, old) {
  const known = new Map(old ? messagesOf(old.messageType) : []);
  const ruleOf = ({ options }) => {
    const rule = options?.$unknown?.find(({ no }) => no === validateRules);
    return rule && Buffer.from(rule.data).toString("hex");
  };
  return [...messagesOf(file.messageType)].flatMap(([path, message]) => {
    const before = known.get(path);
    const now = new Map([...message.field, ...message.oneofDecl].map((one) => [one.name, ruleOf(one)]));
    return [...(before?.field ?? []), ...(before?.oneofDecl ?? [])]
      .filter((one) => now.has(one.name) && ruleOf(one) !== undefined && ruleOf(one) !== now.get(one.name))
      .map(({ name }) => `${path}.${name}`);
  });
}

/** Files that mention types of others import them. */
function newerFile(file, old) {
  const messages = newerMessages(file, old);
  const enums = newerEnums(file, old);
  const lifted = liftedRules(file, old);
  const imports = file.dependency.filter((name) => !old?.dependency.includes(name) && isUsed(name));
  const some = (record) => Object.keys(record).length > 0;
  if (old && !some(messages) && !some(enums) && lifted.length === 0) return undefined;
  return {
    ...(old ? {} : { package: file.package }),
    ...(imports.length > 0 ? { imports } : {}),
    ...(some(messages) ? { messages } : {}),
    ...(some(enums) ? { enums } : {}),
    ...(lifted.length > 0 ? { lifted } : {}),
  };
}

/** Those of options only are not: options are left out. */
const isUsed = (name) => !/^(udpa|xds|envoy)\/annotations\/|^(validate|google\/api)\/[^/]*$/.test(name);

const [source] = process.argv.slice(2);
if (source === undefined) throw new Error("usage: npm run newer-types -- DESCRIPTOR_SET");
const newer = fromBinary(FileDescriptorSetSchema, readFileSync(source));
const pinned = new Map(pinnedTypes().file.map((file) => [file.name, file]));
const files = new Map(newer.file.filter(({ name }) => isOurs(name)).map((file) => [file.name, file]));
/** Some services use types that neither set has. */
const resolves = (name) =>
  pinned.has(name) ||
  name.startsWith("google/protobuf/") ||
  (files.get(name)?.dependency.filter(isUsed).every(resolves) ?? false);
const table = {};
for (const [name, file] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) {
  const made = resolves(name) ? newerFile(file, pinned.get(name)) : undefined;
  if (made) table[name] = made;
}
writeFileSync(join(root, "proto/newer-types.json"), `${JSON.stringify(table, undefined, 1)}\n`);
