/** What every kind of resource is shown with: its rows for people, its messages for programs. */
import type { JsonValue } from "@bufbuild/protobuf";

export type Cells = readonly string[];

/** Whether each row begins with the kind and name, as `proxy-config all` prints it. */
export type Style = "alone" | "among-others";

export interface View {
  /** As a table. */
  short(style: Style): string;
  /** As proto3 JSON. */
  json(): JsonValue;
}
