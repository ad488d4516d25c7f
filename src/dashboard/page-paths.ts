/** The pages that there are, by the paths at which a browser may begin. What is shown on one is in its query. */
export const pagePaths = [
  "/",
  "/graph",
  "/workload",
  "/requests",
  "/namespaces",
  "/namespace",
  "/why",
  "/services",
  "/service",
  "/proxies",
  "/proxy",
  "/objects",
  "/object",
  "/edit",
  "/changes",
  "/change",
  "/identity",
] as const;

export type PagePath = (typeof pagePaths)[number];
