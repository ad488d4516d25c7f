/** The heading of a view, which is also the tab's title; where one has just come to, the keyboard begins there. */
import { useEffect, useRef } from "preact/hooks";

let isFirst = true;

export function Title({ children }: { readonly children: string }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${children} · Fairlead`;
    // Not when the page is opened: then the browser begins at its top.
    if (!isFirst) heading.current?.focus();
    isFirst = false;
  }, [children]);
  return (
    <h1 ref={heading} tabIndex={-1}>
      <bdi>{children}</bdi>
    </h1>
  );
}
