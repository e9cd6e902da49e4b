import { codeOf, sources } from './sources.ts'

/** Types, interfaces and classes that are declared in more than one place. */
export function typesDeclaredTwice(): string[] {
  const declared = sources.flatMap(({ file, text }) =>
    [...codeOf(text).matchAll(/^(?:export )?(?:abstract )?(?:type|interface|class) (\w+)/gm)].map(([, name = '']) => ({
      name,
      file,
    })),
  )
  return [...Map.groupBy(declared, ({ name }) => name)]
    .filter(([, places]) => places.length > 1)
    .map(([name, places]) => `${name}: ${places.map(({ file }) => file).join(', ')}`)
}
