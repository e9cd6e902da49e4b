import { codeOf, collectors, sources } from './sources.ts'

/**
 * Types, interfaces and classes that are declared in more than one place. A name that no collector exports may come again
 * in another collector: each is read alone, as a user's own.
 */
export function typesDeclaredTwice(): string[] {
  const declared = [...sources, ...collectors].flatMap(({ file, text }) =>
    [...codeOf(text).matchAll(/^(export )?(?:abstract )?(?:type|interface|class) (\w+)/gm)].map(
      ([, exported, name = '']) => ({ name, file, isOwn: exported === undefined && file.startsWith('collectors/') }),
    ),
  )
  return [...Map.groupBy(declared, ({ name }) => name)]
    .filter(([, places]) => places.length > 1 && !places.every(({ isOwn }) => isOwn))
    .map(([name, places]) => `${name}: ${places.map(({ file }) => file).join(', ')}`)
}
