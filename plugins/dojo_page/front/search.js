// Find katas by what people call them, ranked as `grader/course/search.py` does; both are tested on one table of queries.
const WORD_BY_WORD = 7; // is added to a rank if the words of a query match in different places

/** Return the words of a text in small letters, with one space between them: `top-p` as `top p`. */
const folded = (text) => (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).join(" ");
const joined = (text) => text.replaceAll(" ", "");
const beginsWord = (text, phrase) => ` ${text}`.includes(` ${phrase}`);

/** Return the first of these that is true, or -1: it is a name; it begins the name, one of its words; it is in the name, and no
 *  single letter; it begins a word of the title, of an alias, of the track. */
function rankOfPhrase(words, phrase) {
  const name = joined(words.name);
  return [
    [name, ...words.aliases.map(joined)].includes(joined(phrase)),
    name.startsWith(joined(phrase)),
    beginsWord(words.name, phrase),
    words.name.includes(phrase) && phrase.length > 1,
    beginsWord(words.title, phrase),
    words.aliases.some((alias) => beginsWord(alias, phrase)),
    beginsWord(words.track, phrase),
  ].indexOf(true);
}

/** Return how well a folded query fits a kata, 0 for its name or an alias, -1 if it does not. */
function rank(words, query) {
  const whole = rankOfPhrase(words, query);
  const parts = query.split(" ");
  if (whole >= 0 || parts.length < 2) return whole;
  const places = parts.map((part) => rankOfPhrase(words, part));
  return places.includes(-1) ? -1 : WORD_BY_WORD + Math.max(...places);
}

/** Return the katas that a text may mean, the best first, equally good ones in their order; all for one without letters. */
export function found(katas, text) {
  const query = folded(text);
  const ranked = katas.map((one) => [rank(one.words, query), one]).filter(([place]) => place >= 0);
  return ranked.sort(([one], [other]) => one - other).map(([, one]) => one);
}

/** Return `[track, its katas]` in the order in which the tracks come up. */
export function byTrack(katas) {
  const tracks = new Map();
  for (const one of katas) tracks.set(one.track, [...(tracks.get(one.track) ?? []), one]);
  return [...tracks];
}
