"""Names for the items of a probe, and cities with their latitudes."""

from __future__ import annotations

# No name is part of another, in any case, so that an answer names one person alone.
_PEOPLE = (
    "Aaron Abigail Adrian Agnes Albert Alfred Alma Amelia Amos Anders Angus Anton Arthur Astrid Audrey Aurora Barbara "
    "Beatrice Benjamin Bernard Bertha Boris Brenda Bruno Calvin Camilla Caroline Caspar Cecilia Charles Chloe Claude "
    "Clement Conrad Cora Curtis Cyril Daniel Daphne Deborah Dennis Diana Dirk Dorothy Duncan Edgar Edith Eleanor "
    "Elias Elsa Emily Enoch Esther Eugene Evelyn Felix Fiona Florence Francis Frederick Gabriel Gareth Georg Gilbert "
    "Gloria Gordon Grace Gregory Greta Gustav Hannah Harold Hector Helen Henry Hilda Hugo Humphrey Ida Ingrid Irene "
    "Isaac Isabel Ivan Jacob James Janet Jasper Jeremy Jerome Jessica Joachim Joseph Judith Julius Karen Keith "
    "Kenneth Klaus Laura Leonard Lewis Lilian Linus Lucas Luther Lydia Magnus Malcolm Marcus Margaret Martha Matthew "
    "Maurice Melissa Michael Miriam Monica Nathan Neil Nicholas Nigel Norman Olga Oliver Oscar Oswald Otto Owen "
    "Patrick Paula Percy Philip Phoebe Quentin Rachel Ralph Raymond Rebecca Richard Robert Roger Rosalind Rufus Ruth "
    "Samuel Sarah Sebastian Selma Sheila Silas Simon Sophia Stephen Sylvia Teresa Theodore Thomas Timothy Tobias "
    "Ursula Valerie Vera Victor Vincent Virginia Walter Wendy Wilfred Willem Winston Xavier Yvonne Zachary Zoe "
)
# Degrees north, each once.
_CITIES = (
    "Reykjavik 64.1 Helsinki 60.2 Stockholm 59.3 Copenhagen 55.7 Moscow 55.8 Dublin 53.3 Berlin 52.5 Warsaw 52.2 "
    "London 51.5 Brussels 50.8 Prague 50.1 Paris 48.9 Vienna 48.2 Budapest 47.5 Zurich 47.4 Ottawa 45.4 Milan 45.5 "
    "Belgrade 44.8 Bucharest 44.4 Toronto 43.7 Sofia 42.7 Rome 41.9 Istanbul 41.0 Naples 40.9 Madrid 40.4 Beijing "
    "39.9 Lisbon 38.7 Athens 38.0 Seoul 37.6 Tunis 36.8 Algiers 36.7 Tokyo 35.7 Kabul 34.5 Baghdad 33.3 Damascus 33.5 "
    "Casablanca 33.6 Shanghai 31.2 Cairo 30.0 Delhi 28.6 Kathmandu 27.7 Riyadh 24.7 Dhaka 23.8 Havana 23.1 Mumbai "
    "19.1 Dakar 14.7 Manila 14.6 Bangkok 13.8 Bamako 12.6 Caracas 10.5 Accra 5.6 Bogota 4.7 Nairobi -1.3 Quito -0.2 "
    "Jakarta -6.2 Luanda -8.8 Lima -12.0 Lusaka -15.4 Harare -17.8 Pretoria -25.7 Perth -31.9 Santiago -33.4 Sydney "
    "-33.9 Melbourne -37.8 Wellington -41.3 "
)

PEOPLE = tuple(_PEOPLE.split())
LATITUDES = dict(zip(_CITIES.split()[::2], map(float, _CITIES.split()[1::2]), strict=True))
