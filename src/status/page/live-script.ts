import { titles } from './html.ts'

/** Protocols from which there is a field to filter them. */
const filteredMin = 12

/** The state of the page, what it says of the connection, and the countdowns. */
const texts = `  const body = document.body;
  const note = document.getElementById('connection');
  const partsOf = root => [...root.querySelectorAll('[data-part]')];
  const sent = new Map(partsOf(document).map(part => [part.dataset.part, part.outerHTML]));
  const keyOf = element => element.matches('summary') ? element.parentElement.id : element.id || element.getAttribute('href');
  let aheadMs = body.dataset.now - Date.now();
  let source, wanted = false, loading = false, loadedMs = 0, headMs = 0, ticks = 0;

  const clock = () => new Date(Date.now() + aheadMs).toISOString().slice(11, 16);
  let seen = clock();
  const say = lost => {
    body.classList.toggle('lost', lost);
    const text = lost ? 'No answer from the daemon: this page shows what was true at ' + seen + ' UTC.' : '';
    if (note.textContent !== text) note.textContent = text;
    if (!lost) seen = clock();
  };

  const count = () => {
    for (const place of document.querySelectorAll('[data-until]')) {
      const left = Math.max(0, Math.round((place.dataset.until - Date.now() - aheadMs) / 1000));
      const hours = Math.floor(left / 3600), minutes = Math.floor(left / 60) % 60, seconds = left % 60;
      const short = hours ? hours + '\\u00a0h ' + minutes + '\\u00a0min' : minutes ? minutes + '\\u00a0min' + (minutes < 10 ? ' ' + seconds + '\\u00a0s' : '') : seconds + '\\u00a0s';
      const text = left ? 'in ' + short : 'now';
      if (place.textContent !== text) place.textContent = text;
    }
  };`

/** Hides what has none of the words that are looked for; a field for them is there from a number of protocols on. */
const filter = `  const filter = document.getElementById('filter');
  const words = filter.querySelector('input'), found = filter.querySelector('span');
  const sieve = () => {
    const all = [...document.querySelectorAll('article.protocol, .metrics tbody, .fold, .hours:not(.fold .hours) tbody tr, .troubles > li')];
    filter.hidden = document.querySelectorAll('article.protocol, .metrics tbody, .fold').length < ${filteredMin} && words.value === '';
    const wanted = words.value.toLowerCase().split(/ +/).filter(Boolean);
    const isWanted = one => wanted.every(word => one.textContent.toLowerCase().includes(word));
    for (const one of all) one.hidden = !isWanted(one);
    const text = wanted.length === 0 ? '' : all.filter(one => !one.hidden).length + ' of ' + all.length + ' rows';
    if (found.textContent !== text) found.textContent = text;
  };
  words.addEventListener('input', sieve);
  sieve();`

/** Replaces the parts that differ. */
const replace = `  const show = text => {
    const next = new DOMParser().parseFromString(text, 'text/html');
    const fresh = partsOf(next);
    if (fresh.length === 0) return location.reload();
    const open = new Map([...document.querySelectorAll('details')].map(one => [one.id, one.open]));
    const active = document.activeElement;
    const key = active && active !== body && keyOf(active);
    const inView = partsOf(document).find(part => part.getBoundingClientRect().bottom > 0);
    const top = inView && inView.getBoundingClientRect().top;
    for (const part of fresh) {
      const name = part.dataset.part, markup = part.outerHTML;
      if (sent.get(name) === markup) continue;
      sent.set(name, markup);
      const old = partsOf(document).find(one => one.dataset.part === name);
      if (old) old.replaceWith(document.adoptNode(part));
    }
    for (const one of document.querySelectorAll('details')) one.open = open.get(one.id) ?? one.open;
    if (key && !active.isConnected) {
      const same = [...document.querySelectorAll(active.tagName)].find(one => keyOf(one) === key);
      if (same) same.focus({ preventScroll: true });
    }
    const again = inView && partsOf(document).find(part => part.dataset.part === inView.dataset.part);
    if (again) scrollBy(0, again.getBoundingClientRect().top - top);
    document.title = next.title;
    body.dataset.state = next.body.dataset.state;
    body.dataset.events = next.body.dataset.events;
    aheadMs = next.body.dataset.now - Date.now();
    count();
    sieve();
  };`

/** Fetches the page when the state is another, or could not be fetched before. */
const follow = `  const load = async () => {
    wanted = true;
    if (loading || document.hidden || !getSelection().isCollapsed || Date.now() - loadedMs < 5000) return;
    loadedMs = Date.now();
    loading = true;
    wanted = false;
    try {
      const answer = await fetch('/', { cache: 'no-store' });
      const isPage = /^text\\/html/.test(answer.headers.get('content-type'));
      if (!answer.ok && isPage) return location.reload();
      if (!answer.ok) throw new Error(answer.status);
      show(await answer.text());
      say(false);
    } catch {
      wanted = true;
      say(true);
    } finally {
      loading = false;
    }
  };

  const listen = () => {
    source = new EventSource(body.dataset.events);
    source.onmessage = ({ data }) => {
      if (data !== body.dataset.state) load();
      else say(false);
    };
    source.onerror = () => { wanted = true; };
  };

  const head = async () => {
    headMs = Date.now();
    const answer = await fetch('/readyz', { cache: 'no-store' }).catch(() => undefined);
    if (document.hidden) document.title = answer?.ok ? '${titles.ready}' : answer ? '${titles.notReady}' : '${titles.lost}';
  };

  document.addEventListener('visibilitychange', () => {
    if (source) source.close();
    source = undefined;
    if (!document.hidden) listen();
  });
  setInterval(() => {
    if (document.hidden && Date.now() - headMs >= 30000) head();
    count();
    ticks += 1;
    if (ticks % 5 === 0 && wanted) load();
    if (ticks % 10 === 0 && source && source.readyState === 2) listen();
  }, 1000);
  count();
  if (!document.hidden) listen();`

/**
 * The page's only script, constant, so that its hash can be in the Content-Security-Policy. It runs in the browser. It
 * listens to `/events`, fetches the page again when the daemon's state is another, and replaces the parts that differ:
 * focus, scroll position, open details, a selection and a filter stay. In a hidden tab it asks for readiness alone, for the
 * title. The page works without it, and before the first event.
 */
export const liveScript = ['(() => {', texts, filter, replace, follow, '})()'].join('\n')
