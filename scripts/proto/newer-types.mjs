// The types of the pinned proto package and the table proto/newer-types.json in; the types of the Envoy that the table was
// made from out. Plain JavaScript: it runs before anything is built.
import { create } from "@bufbuild/protobuf";
import {
  DescriptorProtoSchema,
  EnumDescriptorProtoSchema,
  EnumValueDescriptorProtoSchema,
  FieldDescriptorProtoSchema,
  FileDescriptorProtoSchema,
  FieldDescriptorProto_Label as Label,
  OneofDescriptorProtoSchema,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";

/** `repeated .a.B c = 3 in d`: of type `.a.B`, or a plain word, in oneof `d`. */
const declaration = /^(?:(repeated|optional) )?(?:map<(\w+), (\S+)>|(\S+)) (\w+) = (\d+)(?: in (\w+))?$/;

/** The table does not have what is defined elsewhere, so a type says itself that it is an enum. */
const enumMark = "enum:";

/** The number of protoc-gen-validate's extension. */
export const validateRules = 1071;

/** Adds what the table has to the files of a descriptor set, in place. */
export function addNewerTypes(set, table) {
  const files = new Map(set.file.map((file) => [file.name, file]));
  for (const [name, { package: packageName, imports = [], messages = {}, enums = {}, lifted = [] }] of Object.entries(
    table,
  )) {
    const file = files.get(name) ?? newFile(files, name, packageName);
    for (const path of imports) if (!file.dependency.includes(path)) file.dependency.push(path);
    for (const [path, fields] of Object.entries(messages)) {
      const message = messageAt(file, path.split("."));
      const full = `.${file.package}.${path}`;
      for (const text of fields) addField(message, full, text);
      putSyntheticOneofsLast(message);
      putOneofsTogether(message);
    }
    for (const [path, values] of Object.entries(enums)) addValues(file, path.split("."), values);
    for (const path of lifted) liftRule(file, path.split("."));
  }
  set.file = inOrder(files);
}

function newFile(files, name, packageName) {
  if (packageName === undefined) throw new Error(`${name}: neither in the package nor new`);
  const file = create(FileDescriptorProtoSchema, { name, package: packageName, syntax: "proto3" });
  files.set(name, file);
  return file;
}

function messageAt(file, path) {
  let list = file.messageType;
  let found;
  for (const name of path) {
    found = list.find((one) => one.name === name);
    if (!found) {
      found = create(DescriptorProtoSchema, { name });
      list.push(found);
    }
    list = found.nestedType;
  }
  return found;
}

function addValues(file, path, values) {
  const owner = path.length > 1 ? messageAt(file, path.slice(0, -1)) : file;
  const name = path.at(-1);
  let found = owner.enumType.find((one) => one.name === name);
  if (!found) {
    found = create(EnumDescriptorProtoSchema, { name });
    owner.enumType.push(found);
  }
  for (const text of values) {
    const [value, number] = text.split(" = ");
    found.value.push(create(EnumValueDescriptorProtoSchema, { name: value, number: Number(number) }));
  }
}

function addField(message, full, text) {
  const match = declaration.exec(text);
  if (!match) throw new Error(`${full}: cannot read "${text}"`);
  const [, label, key, value, plain, name, number, oneof] = match;
  const field = create(FieldDescriptorProtoSchema, {
    name,
    number: Number(number),
    jsonName: name.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase()),
    label: label === "repeated" || key ? Label.REPEATED : Label.OPTIONAL,
    ...(key ? entryType(message, full, name, key, value) : typeOf(plain)),
  });
  if (oneof !== undefined) field.oneofIndex = oneofAt(message, oneof);
  if (label === "optional") {
    field.oneofIndex = oneofAt(message, `_${name}`);
    field.proto3Optional = true;
  }
  // A field that has changed its type since is the newer one.
  message.field = message.field.filter((one) => one.number !== field.number && one.name !== name);
  message.field.push(field);
}

function entryType(message, full, name, key, value) {
  const entry = `${name.replace(/(^|_)([a-z0-9])/g, (_, __, letter) => letter.toUpperCase())}Entry`;
  const part = (partName, number, type) =>
    create(FieldDescriptorProtoSchema, {
      ...{ name: partName, jsonName: partName, number, label: Label.OPTIONAL },
      ...typeOf(type),
    });
  message.nestedType.push(
    create(DescriptorProtoSchema, {
      name: entry,
      field: [part("key", 1, key), part("value", 2, value)],
      options: { mapEntry: true },
    }),
  );
  return { type: Type.MESSAGE, typeName: `${full}.${entry}` };
}

function typeOf(word) {
  if (word.startsWith(enumMark)) return { type: Type.ENUM, typeName: word.slice(enumMark.length) };
  if (word.startsWith(".")) return { type: Type.MESSAGE, typeName: word };
  const type = Type[word.toUpperCase()];
  if (type === undefined) throw new Error(`no type ${word}`);
  return { type };
}

function oneofAt(message, name) {
  const at = message.oneofDecl.findIndex((one) => one.name === name);
  if (at >= 0) return at;
  return message.oneofDecl.push(create(OneofDescriptorProtoSchema, { name })) - 1;
}

/** As descriptors require: those of optional fields come after all others. */
function putSyntheticOneofsLast(message) {
  const synthetic = new Set(message.field.filter((one) => one.proto3Optional).map((one) => one.oneofIndex));
  const order = message.oneofDecl.map((_, i) => i).sort((a, b) => synthetic.has(a) - synthetic.has(b) || a - b);
  message.oneofDecl = order.map((i) => message.oneofDecl[i]);
  for (const field of message.field) {
    // One that is in none reads as 0, too.
    if (Object.hasOwn(field, "oneofIndex")) field.oneofIndex = order.indexOf(field.oneofIndex);
  }
}

/** As descriptors require, too. */
function putOneofsTogether(message) {
  const oneofOf = (field) => (Object.hasOwn(field, "oneofIndex") ? message.oneofDecl[field.oneofIndex] : field);
  message.field = [...Map.groupBy(message.field, oneofOf).values()].flat();
}

/** Rules of validation are an extension of options; those that have changed since are left to Envoy. */
function liftRule(file, path) {
  const message = messageAt(file, path.slice(0, -1));
  for (const one of [...message.field, ...message.oneofDecl])
    if (one.name === path.at(-1) && one.options)
      one.options.$unknown = one.options.$unknown?.filter(({ no }) => no !== validateRules);
}

/** Each file after those that it imports. */
function inOrder(files) {
  const out = new Set();
  const visit = (file, above) => {
    if (!file || out.has(file)) return;
    if (above.includes(file.name)) throw new Error(`${[...above, file.name].join(" imports ")}`);
    for (const name of file.dependency) visit(files.get(name), [...above, file.name]);
    out.add(file);
  };
  for (const file of files.values()) visit(file, []);
  return [...out];
}
