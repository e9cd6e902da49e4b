import { codeOf, sources } from './sources.ts'

/** Names of types that are declared twice. Nothing may be added. */
const twice: readonly string[] = ['Hold']

/** Types, interfaces and classes that are declared in more than one place. */
export function typesDeclaredTwice(): string[] {
  const declared = sources.flatMap(({ file, text }) =>
    [...codeOf(text).matchAll(/^(?:export )?(?:abstract )?(?:type|interface|class) (\w+)/gm)].map(([, name = '']) => ({
      name,
      file,
    })),
  )
  return [...Map.groupBy(declared, ({ name }) => name)]
    .filter(([name, places]) => places.length > 1 && !twice.includes(name))
    .map(([name, places]) => `${name}: ${places.map(({ file }) => file).join(', ')}`)
}
