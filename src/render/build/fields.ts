/** Some fields of a message, to be spread into the whole. */
import type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf";

export type Fields<Desc extends DescMessage> = Exclude<MessageInitShape<Desc>, MessageShape<Desc>>;
