/** Troubles, the balance of the outbox, and warnings. */
export const listsStyle = `
.troubles, .warnings { display: grid; gap: .75rem; max-width: 60rem; }
.troubles { margin-top: .625rem; }
.troubles li { display: flex; gap: .625rem; }
.troubles .shape { flex: none; width: .8125rem; height: .8125rem; margin-top: .3125rem; }
#more-troubles { margin-top: .75rem; }
.troubles b { font-weight: 600; margin-right: .25rem; }
.balance { display: flex; flex-wrap: wrap; gap: .875rem 0; margin-bottom: .625rem; }
.balance div { position: relative; padding-right: 2.75rem; }
.balance dt { display: flex; align-items: center; gap: .375rem; color: var(--quiet); font-size: .8125rem; }
.balance dd { font-size: 1.375rem; font-weight: 600; line-height: 1.35; letter-spacing: -.015em; }
.balance div:not(:last-child)::after { position: absolute; right: .9375rem; bottom: .1875rem; font-size: 1.125rem; color: var(--faint); }
.balance .enqueued::after { content: "="; } .balance .delivered::after, .balance .dead::after, .balance .held::after { content: "+"; }
.balance .zero dd { color: var(--quiet); font-weight: 400; }
.balance .zero .shape.shape { color: var(--faint); }
.facts { display: flex; flex-wrap: wrap; gap: .375rem 2.5rem; margin-top: 1.125rem; }
.facts dt { color: var(--quiet); font-size: .8125rem; }
.due-list { display: flex; flex-wrap: wrap; gap: 0 1.25rem; margin-top: .5rem; }
.commands { margin-top: .5rem; } .gate { margin-bottom: .75rem; }
.endpoints { width: 100%; border-collapse: collapse; font-size: .875rem; }
.endpoints th, .endpoints td { padding: .3125rem .75rem .3125rem 0; border-bottom: 1px solid var(--rule); text-align: left; vertical-align: baseline; font-weight: 400; overflow-wrap: break-word; }
.endpoints thead th { color: var(--quiet); font-size: .8125rem; }
.endpoints .old { color: var(--amber); }
.warnings li { padding-left: .875rem; border-left: 2px solid var(--rule); }
@media (max-width: 40rem) {
  .endpoints, .endpoints tbody, .endpoints tr, .endpoints th, .endpoints td { display: block; padding: 0; border: 0; }
  .endpoints thead { position: absolute; clip-path: inset(50%); }
  .endpoints tr { padding: .5rem 0; border-bottom: 1px solid var(--rule); }
  .balance { display: grid; gap: .25rem; }
  .balance div { display: flex; justify-content: space-between; align-items: baseline; padding: .1875rem 0; border-bottom: 1px solid var(--rule); }
  .balance div:not(:last-child)::after { content: none; }
  .balance dt { font-size: .9375rem; } .balance dd { font-size: 1.0625rem; }
}
`
