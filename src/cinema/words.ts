/** What generated titles, names and reviews are made of. */

export const ADJECTIVES = (
  'Silent Crimson Hidden Last Golden Broken Distant Frozen Burning Forgotten Midnight Electric Hollow Paper ' +
  'Restless Northern Invisible Scarlet Borrowed Endless Quiet Velvet Wandering Perfect Second Bitter'
).split(' ')

export const NOUNS = (
  'River Engine Garden Signal Harbour Mirror Winter Orbit Letter Stranger Kingdom Machine Shadow Station Sister ' +
  'Island Promise Harvest Theatre Comet Bridge Memory Crown Voyage Lantern Horizon Archive Sparrow'
).split(' ')

export const PLACES = (
  'Samarkand Callisto Odessa Kyoto Valparaíso Tromsø Marseille Titan Kraków Havana Tbilisi Lisbon Europa Zürich ' +
  'Reykjavík Москва İzmir Québec Ōsaka Timbuktu'
).split(' ')

export const FIRST_NAMES = (
  'Anna Boris Chloé Daniel Elena Farid Grace Hiro Ingrid João Katya Lars Mira Nikolai Olga Pablo Quinn Rosa ' +
  'Sven Tamar Ulrich Vera Wei Ximena Yusuf Zoë Алексей Мария'
).split(' ')

export const LAST_NAMES = (
  'Adler Bennett Castillo Dvořák Evans Fischer Grigoryan Holt Ivanova Jensen Kim Lindqvist Moreau Nakamura ' +
  "O'Brien Petrov Quist Rossi Šimić Takahashi Ueda Varga Walker Xu Yilmaz Zhang Соколова Орлов"
).split(' ')

export const COUNTRIES = 'US GB DE FR IN JP BR RU PL ES KZ GE AM SE NL MX'.split(' ')

export const PREMISES = [
  'must decide what to keep and what to burn.',
  'finds a door that should not be there.',
  'has one night to put right a whole life.',
  'learns that the past keeps its own books.',
  'takes a job that nobody else would touch.', // words:allow
  'follows a rumour to the end of the line.',
  'wins everything and misses the train.',
  'is the only one who remembers yesterday.',
]

export const OPINIONS = {
  negative: [
    'Two hours I will not get back.',
    'The trailer had all of it, and was shorter.',
    'Loud, long and strangely empty.',
    'Не досмотрел.',
  ],
  neutral: [
    'Fine for a rainy evening.',
    'Good actors, a script that lets them down.',
    'I liked the first half.',
    'На один раз.',
  ],
  positive: [
    'Watched it twice in a week.',
    'The ending stayed with me for days.',
    'Everything fits: pictures, music, people.',
    'Шедевр, без оговорок. ❤️',
  ],
} as const
