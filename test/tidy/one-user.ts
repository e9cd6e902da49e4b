import { codeOf, collectors, type Source, sources } from './sources.ts'

/** Exported constants, but for functions, that one other file uses and their own does not: each belongs into that file. */
export function constantsOfOneUser(): string[] {
  return sources.flatMap(source =>
    [...source.text.matchAll(/^export const (\w+)(?::[^=\n]+)? = (?!.*=>)/gm)].flatMap(([, name = '']) => {
      const [user, ...others] = usersOf(name, source)
      return user === undefined || others.length > 0 || isUsedIn(source, name)
        ? []
        : [`${source.file}: ${name} is used in ${user} alone`]
    }),
  )
}

/** Bags of dependencies whose taker one other file calls: its arguments say the same. */
export function bagsOfOneCaller(): string[] {
  return sources.flatMap(source =>
    [...source.text.matchAll(/^(?:export )?(?:interface|type) (\w+Deps)\b/gm)].flatMap(([, bag = '']) => {
      const taker = takerOf(bag, source.text)
      const callers = taker === undefined ? [] : usersOf(taker, source)
      return callers.length === 1 ? [`${source.file}: ${bag} is filled by ${callers[0]} alone`] : []
    }),
  )
}

/** The function or class of a file that takes a bag. */
function takerOf(bag: string, text: string): string | undefined {
  const declared = [...text.matchAll(/^(?:export )?(?:async )?(?:function|class) (\w+)/gm)]
  const taken = new RegExp(`^(?!.*\\b(?:interface|type) ${bag}\\b).*[:&] (?:readonly )?${bag}\\b`, 'm').exec(text)
  return taken ? declared.findLast(({ index }) => index <= taken.index + taken[0].length)?.[1] : undefined
}

/** Gives names to collectors and uses none. */
const face = 'src/collector.ts'

/** Files of the product that import a name from a file. */
function usersOf(name: string, { file }: Source): string[] {
  const word = new RegExp(`\\b${name}\\b`)
  return [...sources, ...collectors]
    .filter(
      other =>
        ![file, face].includes(other.file) &&
        other.imports.some(({ target }) => target === file) &&
        word.test(other.text),
    )
    .map(other => other.file)
}

const isUsedIn = ({ text }: Source, name: string) => codeOf(text).split(new RegExp(`\\b${name}\\b`)).length > 2
