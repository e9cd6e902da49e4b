import { parseAst } from 'rolldown/parseAst'
import { codeOf, collectors, type Source, sources } from './sources.ts'

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

/** A node of the syntax tree, as far as names are looked for. */
interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly name?: string
}

/** Nodes in a node or a list of them. */
function nodesIn(value: unknown): readonly Node[] {
  const isNode = (each: unknown): each is Node => typeof each === 'object' && each !== null && 'type' in each
  return Object.values(Object(value)).flat().filter(isNode)
}

/** Identifiers that a pattern binds, those of properties taken apart included. */
function boundIn(pattern: Node): readonly Node[] {
  if (pattern.type === 'Identifier') return [pattern]
  if (pattern.type === 'Property') return boundIn(Reflect.get(pattern, 'value'))
  if (pattern.type === 'AssignmentPattern') return boundIn(Reflect.get(pattern, 'left'))
  return /Pattern$|^RestElement$/.test(pattern.type) ? nodesIn(pattern).flatMap(boundIn) : []
}

const words = (...lines: readonly string[]) => new Set(lines.flatMap(line => line.split(' ')))

/** Words that name nothing: pronouns, question words, prepositions, adverbs, and adjectives without their noun. */
const vagueWords = words(
  'own one some other others each all any both same more most what which who it this that rest such none nothing',
  'how where why when then because here there not never no may',
  'at of as by over above below into except without within until near against about around between beyond per',
  'before after again only enough further together alone later earlier early late back away always apart outside',
  'elsewhere whole dead due open usable fresh silent newest oldest missing absent stray plain clean quiet half old',
  'older living local wrong present different full empty alive possible impossible recent heavy light slow quick',
  'stuck busy idle faulty unsure unclear unfit unread fewer least better best good',
)
const participles = /^(?:[a-z]+ed|[a-z]{2,}ing)$/
const irregularParticiples = words(
  'found said known shown kept seen taken held left meant written read done made sent lost gone got had begun met put',
  'spent sought given told built chosen broken thrown drawn grown hidden won paid heard caught brought thought bought',
  'led fed forgotten remade',
)
/** Nouns that end as participles do. */
const nouns = words(
  'feed need seed speed string ping encoding framing meaning reading recording holding ending listing opening',
)

/** Whether a name says nothing of what it holds. */
function isVague(name: string): boolean {
  if (nouns.has(name)) return false
  return vagueWords.has(name) || irregularParticiples.has(name) || participles.test(name)
}

/** Locals and parameters that live for more than three lines and whose name does not say what they hold. */
export function vagueLocals(all: readonly Source[]): readonly string[] {
  const vague: string[] = []
  for (const { file, text } of all) {
    const lineOf = (at: number) => text.slice(0, at).split('\n').length
    const meet = ({ name = '', start }: Node, scope: Node) => {
      const uses = [...text.slice(start, scope.end).matchAll(new RegExp(`\\b${name}\\b`, 'g'))]
      const line = lineOf(start)
      if (lineOf(start + (uses.at(-1)?.index ?? 0)) - line < 3) return
      if (isVague(name)) vague.push(`${file}:${line}: ${name}`)
    }
    const visit = (node: Node, scope: Node | undefined): void => {
      const isFunction = /Function/.test(node.type)
      const within = isFunction || node.type === 'BlockStatement' || /^For/.test(node.type) ? node : scope
      const bound = isFunction
        ? Reflect.get(node, 'params')
        : node.type === 'VariableDeclarator'
          ? [Reflect.get(node, 'id')]
          : []
      if (within) for (const name of nodesIn(bound).flatMap(boundIn)) meet(name, within)
      for (const child of nodesIn(node)) visit(child, within)
    }
    for (const node of nodesIn([parseAst(text, { lang: 'ts' })])) visit(node, undefined)
  }
  return vague
}
