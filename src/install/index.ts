export { type ChartFile, chartFiles, valuesYaml } from "./chart.ts";
export {
  completeValues,
  customResourceDefinitions,
  deactivated,
  defaultValidatorObject,
  installObjects,
  namespaceObject,
  tagObjects,
  urlInjector,
} from "./manifest.ts";
export { type GivenValues, readGivenValues } from "./sources.ts";
