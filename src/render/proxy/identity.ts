/** A proxy in; whether it proved who it is out. */
import type { ProxyClass } from "../../model/index.ts";

/** Who did not prove who it is has no account, and is given no secret of any kind. */
export const isProven = ({ serviceAccount }: Pick<ProxyClass, "serviceAccount">): boolean => serviceAccount !== "";
