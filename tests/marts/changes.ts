/** What happens in a cinema, in SQL. Fixed ids and times: the same marts come out each time. */
const id = (n: number) => `'00000000-0000-4000-8000-${String(n).padStart(12, '0')}'`
const film = (title: string) => `(SELECT id FROM content.film_work WHERE title = '${title}')`

/** Two unseen films share a rank; a new user only likes, another one watches nothing of a film. */
const INSERTS = `
  INSERT INTO content.genre (id, name) VALUES (${id(1)}, 'Noir'), (${id(2)}, 'Silent');
  INSERT INTO content.film_work (id, title, creation_date, rating, type) VALUES
    (${id(12)}, 'Twin', NULL, NULL, 'movie'), (${id(11)}, 'Twin', '1947-03-01', 7, 'movie'), (${id(13)}, 'Ничего', '1926-01-01', 5.5, 'movie');
  INSERT INTO content.person (id, full_name) VALUES (${id(21)}, 'Åsa Ö'), (${id(22)}, 'Zoë "Z", Q');
  INSERT INTO content.genre_film_work (id, film_work_id, genre_id) VALUES
    (${id(31)}, ${id(11)}, ${id(1)}), (${id(32)}, ${id(12)}, ${id(1)}),
    (${id(33)}, ${film('Andor')}, ${id(1)});
  INSERT INTO content.person_film_work (id, film_work_id, person_id, role) VALUES
    (${id(41)}, ${id(11)}, ${id(21)}, 'actor'), (${id(42)}, ${id(11)}, ${id(22)}, 'actor'),
    (${id(43)}, ${film('Andor')}, ${id(22)}, 'writer');
  INSERT INTO ugc.ratings (id, film_id, user_id, rating) VALUES
    (${id(51)}, ${film('Andor')}, ${id(91)}, 1), (${id(52)}, ${id(13)}, ${id(91)}, 10), (${id(53)}, ${id(14)}, ${id(92)}, 3);
  INSERT INTO ugc.likes (id, film_id, user_id, value) VALUES (${id(61)}, ${film('Andor')}, ${id(93)}, -1);
  INSERT INTO ugc.reviews (id, film_id, user_id, text, sentiment) VALUES
    (${id(71)}, ${film('Andor')}, ${id(94)}, 'Nothing to say', NULL), (${id(72)}, ${id(13)}, ${id(94)}, 'No words', NULL);
  INSERT INTO ugc.views (id, film_id, user_id, progress_seconds, duration_seconds, finished, started_at) VALUES
    (${id(81)}, ${film('Andor')}, ${id(95)}, 0, 100, false, '2026-01-20 12:00:00.000001+00'),
    (${id(82)}, ${film('Alien')}, ${id(91)}, 50, 100, false, '2026-01-20 12:00:00.000002+00'),
    (${id(83)}, ${id(14)}, ${id(96)}, 10, 100, false, '2025-10-22 12:00:00.000002+00'),
    (${id(84)}, ${id(13)}, ${id(91)}, 100, 100, true, '2025-10-22 12:00:00.000003+00')`

/** Names that stand in many rows of a mart, and numbers that move films past each other. */
const UPDATES = `
  UPDATE content.genre SET name = 'Science Fiction' WHERE name = 'Sci-Fi';
  UPDATE content.person SET full_name = 'Another Person' WHERE full_name = 'Harrison Ford';
  UPDATE content.film_work SET title = 'Alien!', description = NULL WHERE title = 'Alien';
  UPDATE content.film_work SET rating = 9.9, modified = '2020-01-01' WHERE title = 'Andor';
  UPDATE content.person_film_work SET role = 'director' WHERE id = ${id(42)};
  UPDATE ugc.ratings SET rating = 10 WHERE id IN (SELECT id FROM ugc.ratings ORDER BY id LIMIT 300);
  UPDATE ugc.likes SET value = -value WHERE id IN (SELECT id FROM ugc.likes ORDER BY id LIMIT 100);
  UPDATE ugc.reviews SET sentiment = 'negative' WHERE id IN (SELECT id FROM ugc.reviews ORDER BY id LIMIT 50);
  UPDATE ugc.views SET progress_seconds = duration_seconds, finished = true WHERE film_id = ${film('Interstellar')}`

/** A film is deleted, and its ratings and reviews stay: each service owns its schema. */
const DELETES = `
  DELETE FROM content.film_work WHERE title IN ('Inception', 'Twin');
  DELETE FROM content.genre WHERE name = 'Western';
  DELETE FROM content.genre_film_work WHERE id = ${id(33)};
  DELETE FROM content.person WHERE full_name = 'Another Person';
  DELETE FROM ugc.ratings WHERE film_id = ${film('Interstellar')} OR id IN (SELECT id FROM ugc.ratings ORDER BY id DESC LIMIT 200);
  UPDATE ugc.ratings SET film_id = ${film('Alien!')} WHERE id = ${id(51)};
  DELETE FROM ugc.views WHERE user_id IN (SELECT user_id FROM ugc.views GROUP BY user_id ORDER BY user_id LIMIT 10);
  DELETE FROM ugc.likes WHERE id IN (SELECT id FROM ugc.likes ORDER BY id LIMIT 500);
  DELETE FROM ugc.reviews WHERE sentiment = 'neutral'`

export const CHANGES = { inserts: INSERTS, updates: UPDATES, deletes: DELETES } as const
