/**
 * What the place where options are parsed does with the schemas that `tidegauge` exports. A collector's process sets it;
 * elsewhere (an author's own test, an editor) a path stays as it is written.
 */
export const optionsEdge: {
  /** Notes that a path is declared. @returns where it leads */
  path: (written: string) => string
} = { path: written => written }
