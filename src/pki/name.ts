/** X.501 names and subject alternative names: plain data in, DER out; unsafe characters are refused, never carried. */
import { FairleadError, parseIp } from "../lib/index.ts";
import { contextTag, encode, oid, sequence, set, utf8String } from "./der.ts";
import { oids } from "./oids.ts";

export interface SubjectName {
  readonly organization?: string;
  readonly commonName?: string;
}

export type SubjectAltName =
  | { readonly type: "uri"; readonly value: string }
  | { readonly type: "dns"; readonly value: string }
  | { readonly type: "ip"; readonly value: string };

export function encodeName(name: SubjectName): Buffer {
  const attributes: Buffer[] = [];
  const add = (type: string, value: string | undefined): void => {
    if (value !== undefined && value !== "")
      attributes.push(set(sequence(oid(type), utf8String(checkPrintable(value)))));
  };
  add(oids.organization, name.organization);
  add(oids.commonName, name.commonName);
  return sequence(...attributes);
}

export function encodeAltNames(names: readonly SubjectAltName[]): Buffer {
  if (names.length === 0)
    throw new FairleadError("invalid", "a certificate needs at least one subject alternative name");
  return sequence(...names.map(encodeAltName));
}

function encodeAltName(name: SubjectAltName): Buffer {
  switch (name.type) {
    case "dns":
      return encode(contextTag(2, false), Buffer.from(checkDnsName(name.value), "latin1"));
    case "uri":
      return encode(contextTag(6, false), Buffer.from(checkVisibleAscii(name.value), "latin1"));
    case "ip": {
      const address = parseIp(name.value);
      if (!address) throw badName(name.value);
      return encode(contextTag(7, false), address);
    }
  }
}

/** NUL, spaces and look-alikes in a SAN have fooled verifiers before; nothing but visible ASCII goes in. */
function checkVisibleAscii(value: string): string {
  if (!/^[!-~]{1,2048}$/.test(value)) throw badName(value);
  return value;
}

function checkDnsName(value: string): string {
  if (value.length > 253 || !/^(\*\.)?[A-Za-z0-9_]([-A-Za-z0-9_.]*[A-Za-z0-9_])?$/.test(value)) throw badName(value);
  return value;
}

function checkPrintable(value: string): string {
  if (!/^[ -~]{1,256}$/.test(value)) throw badName(value);
  return value;
}

function badName(value: string): FairleadError {
  return new FairleadError("invalid", `${JSON.stringify(value.slice(0, 100))} cannot be a name in a certificate`);
}
