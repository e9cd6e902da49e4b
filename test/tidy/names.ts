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

/** Words with one meaning, and the folders in which a type or a folder may have them in its name. */
const meanings: readonly (readonly [word: string, meaning: string, at: RegExp])[] = [
  ['Run', 'one execution of a collector', /^src\/(runner|intake|testing|app|cli|chain|telemetry)\//],
  ['Lane', 'a chain, web or a machine in a fleet', /^src\/(fleet|outbox|status|app)\//],
  ['Turn', 'nothing: a pass of a loop, a tick of the event loop, a slot of a pacer', /^$/],
  ['Look', 'nothing: a read', /^$/],
  ['Stamp', 'nothing: a version', /^$/],
  ['Withheld', 'nothing: excluded', /^$/],
  ['Standing', 'nothing: a state', /^$/],
  ['Hurry', 'nothing: a requested flush', /^$/],
  ['Pasts', 'nothing: previous values', /^$/],
  ['Apart', 'nothing: separate', /^$/],
  ['Elsewhere', 'nothing: another endpoint', /^$/],
  ['Part', 'a part of a whole that is shown or parsed; of a batch: a piece', /^src\/(?!delivery\/|outbox\/)/],
  ['Log', 'lines for people, or events of a chain; of SQLite: WAL; of deliveries: journal', /^src\/(?!delivery\/)/],
  [
    'Lock',
    'what one process has at a time, or a unit that does not change',
    /^src\/(sqlite|outbox|status|cli|delivery)\//,
  ],
  ['Lease', 'what one daemon of a fleet has until it is not renewed; of a job: a claim', /^src\/(fleet|outbox)\//],
]

/** Names of types and folders with a word in another of its meanings. */
export function wordsElsewhere(): string[] {
  return meanings.flatMap(([word, meaning, at]) => {
    const inType = new RegExp(`(?:^|[a-z0-9])${word}(?:s|ed)?(?!Ups?|[a-z])`)
    const inFolder = new RegExp(`(?:^|[/-])${word.toLowerCase()}s?(?:/|$)`)
    const folders = new Set(sources.map(({ file }) => file.slice(0, file.lastIndexOf('/'))))
    const named = [...folders].filter(folder => inFolder.test(folder) && !at.test(`${folder}/`))
    const types = sources.flatMap(({ file, text }) =>
      [...codeOf(text).matchAll(/^(?:export )?(?:abstract )?(?:type|interface|class) (\w+)/gm)]
        .filter(([, name = '']) => inType.test(name) && !at.test(file))
        .map(([, name]) => `${file}: ${name}`),
    )
    return [...named, ...types].map(place => `${place}: ${word} means ${meaning}`)
  })
}
